//! The one thread that writes a file. What is given to it while it commits is committed together, next: the wait for the
//! disk is shared.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use rusqlite::{Connection, Result, TransactionBehavior};

use super::file::{Change, explain};
use crate::StoreError;

/// How many changes are committed together at most.
const TOGETHER: usize = 256;

/// A handle on the thread, which ends when the last one is dropped and what was given to it is done.
#[derive(Debug, Clone)]
pub(super) struct Writer(Sender<Box<dyn Work>>);

impl Writer {
    pub(super) fn start(connection: Connection, path: Arc<Path>) -> std::result::Result<Self, StoreError> {
        let (give, given) = channel();
        let thread = std::thread::Builder::new().name("sqlite".to_owned());
        let started = thread.spawn(move || write(connection, &path, &given));
        started.map_err(|fault| StoreError::Unavailable(format!("no thread can be started: {fault}")))?;
        Ok(Self(give))
    }

    /// Gives it a change; `to` is called with what it came to.
    pub(super) fn give<T, W, A>(&self, work: W, to: A)
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> Result<T> + Send + 'static,
        A: FnOnce(Answer<T>) + Send + 'static,
    {
        // Without a thread nobody answers.
        let _ = self.0.send(Box::new(Given {
            work: Some(work),
            done: None,
            to,
        }));
    }
}

/// What a change came to, or what it panicked with.
pub(super) type Answer<T> = std::thread::Result<std::result::Result<Change<T>, StoreError>>;

/// A change whose result nobody here needs to know.
trait Work: Send {
    /// Does it; the error is kept for its answer.
    fn work(&mut self, connection: &Connection, path: &Path) -> Outcome;

    /// Answers: it is committed, or what happened to the commit of all.
    fn answer(self: Box<Self>, committed: &std::result::Result<(), Fault>);
}

/// Whether the change is to stay.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Keep,
    Undo,
}

/// Why changes that were made did not stay.
enum Fault {
    /// They have no effect.
    Undone(StoreError),
    /// Nobody knows.
    Unknown(String),
}

struct Given<T, W, A> {
    work: Option<W>,
    done: Option<std::thread::Result<std::result::Result<T, StoreError>>>,
    to: A,
}

impl<T, W, A> Work for Given<T, W, A>
where
    T: Send + 'static,
    W: FnOnce(&Connection) -> Result<T> + Send + 'static,
    A: FnOnce(Answer<T>) + Send + 'static,
{
    fn work(&mut self, connection: &Connection, path: &Path) -> Outcome {
        let Some(work) = self.work.take() else {
            return Outcome::Undo;
        };
        let done: std::thread::Result<Result<T>> = catch_unwind(AssertUnwindSafe(|| work(connection)));
        let outcome = if matches!(done, Ok(Ok(_))) {
            Outcome::Keep
        } else {
            Outcome::Undo
        };
        self.done = Some(done.map(|done| done.map_err(|error| explain(path, &error))));
        outcome
    }

    fn answer(self: Box<Self>, committed: &std::result::Result<(), Fault>) {
        let answer = match (self.done, committed) {
            (Some(Err(panic)), _) => Err(panic),
            (Some(Ok(Err(fault))), _) => Ok(Err(fault)),
            (Some(Ok(Ok(done))), Ok(())) => Ok(Ok(Change::Made(done))),
            (None, Ok(())) => return,
            (_, Err(Fault::Undone(fault))) => Ok(Err(fault.clone())),
            (_, Err(Fault::Unknown(why))) => Ok(Ok(Change::Unknown(why.clone()))),
        };
        (self.to)(answer);
    }
}

/// The thread.
fn write(mut connection: Connection, path: &Path, given: &Receiver<Box<dyn Work>>) {
    while let Ok(first) = given.recv() {
        let mut changes = vec![first];
        changes.extend(given.try_iter().take(TOGETHER - 1));
        let committed = commit(&mut connection, path, &mut changes);
        for change in changes {
            change.answer(&committed);
        }
    }
}

/// Makes the changes in one transaction. One that fails is undone by itself.
fn commit(connection: &mut Connection, path: &Path, changes: &mut [Box<dyn Work>]) -> std::result::Result<(), Fault> {
    let undone = |error: &rusqlite::Error| Fault::Undone(explain(path, error));
    let mut transaction = connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .map_err(|error| undone(&error))?;
    for change in changes {
        let mut savepoint = transaction.savepoint().map_err(|error| undone(&error))?;
        let outcome = change.work(&savepoint, path);
        if savepoint.is_autocommit() {
            // Some faults of the disk make SQLite undo the whole transaction.
            let why = format!("{}: a change beside this one broke off", path.display());
            return Err(Fault::Undone(StoreError::Unavailable(why)));
        }
        match outcome {
            Outcome::Keep => savepoint.commit().map_err(|error| undone(&error))?,
            Outcome::Undo => savepoint.rollback().map_err(|error| undone(&error))?,
        }
    }
    transaction
        .commit()
        .map_err(|error| Fault::Unknown(format!("the commit failed: {error}")))
}

/// Passes a panic of the work on; none: nobody answered.
pub(super) fn passed_on<T>(answer: Option<Answer<T>>) -> std::result::Result<Change<T>, StoreError> {
    match answer {
        Some(Ok(answer)) => answer,
        Some(Err(panic)) => resume_unwind(panic),
        None => Err(StoreError::Unavailable("the program is ending".to_owned())),
    }
}
