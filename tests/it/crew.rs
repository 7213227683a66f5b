//! Several workers, each a process of its own that may be killed at any moment; another one takes its place.

use std::fs::File;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::servers::target;

/// What a new worker with this number is started with, beside what all have.
type Equip = Box<dyn Fn(usize) -> Vec<(String, String)>>;

/// The workers. Dropped, they are killed.
pub(crate) struct Crew {
    folder: TempDir,
    equip: Equip,
    /// Each with its number; no number is given twice.
    workers: Vec<(usize, Child)>,
    begun: usize,
}

impl Crew {
    /// Starts `size` workers in an environment of their own; `equip` adds to it.
    ///
    /// # Panics
    /// Where the command was not built.
    pub(crate) fn start(size: usize, equip: impl Fn(usize) -> Vec<(String, String)> + 'static) -> Self {
        let mut crew = Self {
            folder: tempfile::tempdir().expect("a folder for temporary files"),
            equip: Box::new(equip),
            workers: Vec::new(),
            begun: 0,
        };
        for _ in 0..size {
            crew.begin();
        }
        crew
    }

    fn begin(&mut self) {
        let number = self.begun;
        let log = File::create(self.folder.path().join(format!("{number}.log"))).expect("a log can be written");
        let program = target().join("debug/matsu");
        let worker = Command::new(&program)
            .args(["worker", "--sweep-every", "20s"])
            .env_clear()
            .env("HOME", self.folder.path())
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .envs((self.equip)(number))
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        let worker = worker.unwrap_or_else(|e| {
            panic!(
                "{}: {e}: run ./tests/run first, it builds the command",
                program.display()
            )
        });
        self.workers.push((number, worker));
        self.begun += 1;
    }

    /// Kills one of them, which `which` picks, in the middle of whatever it does, and starts another; answers the number
    /// of the dead.
    pub(crate) fn kill(&mut self, which: usize) -> usize {
        let (number, mut worker) = self.workers.remove(which % self.workers.len());
        end(&mut worker);
        self.begin();
        number
    }

    /// The numbers of those that have ended by themselves, each with the end of its log; others take their places.
    pub(crate) fn ended(&mut self) -> Vec<(usize, String)> {
        let mut ended = Vec::new();
        self.workers.retain_mut(|(number, worker)| {
            let at_work = worker.try_wait().is_ok_and(|code| code.is_none());
            if !at_work {
                ended.push(*number);
            }
            at_work
        });
        let told = ended.into_iter().map(|number| {
            self.begin();
            (number, self.log(number))
        });
        told.collect()
    }

    /// The last lines that a worker logged.
    fn log(&self, number: usize) -> String {
        let log = std::fs::read_to_string(self.folder.path().join(format!("{number}.log"))).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(10)..].join("\n")
    }
}

/// Whoever has ended by itself is not killed any more.
fn end(worker: &mut Child) {
    let _ = worker.kill();
    let _ = worker.wait();
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.workers.iter_mut().for_each(|(_, worker)| end(worker));
    }
}
