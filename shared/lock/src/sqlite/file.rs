//! One SQLite file, shared by all that this process keeps in it and by other processes.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, Error, ErrorCode, MAIN_DB, OpenFlags, TransactionBehavior, ffi};

use tokio::sync::oneshot;

use super::writer::{Writer, passed_on};
use crate::StoreError;

/// How long a request waits while another process writes.
const BUSY: Duration = Duration::from_secs(5);

/// How often the switch to the write-ahead log is tried while other processes open the same new file.
const TRIES: u32 = 50;

/// A handle on an open file; clones share one connection for reading and one for writing, each of which does one thing
/// at a time. Writes that come while others are being written are committed together.
#[derive(Debug, Clone)]
pub struct SqliteFile {
    path: Arc<Path>,
    reader: Arc<Mutex<Connection>>,
    writer: Writer,
}

/// What became of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change<T> {
    /// It is committed, and outlasts a loss of power.
    Made(T),
    /// The commit failed: nobody knows. The text says how.
    Unknown(String),
}

impl SqliteFile {
    /// Opens the file, creating it and missing folders above it for this user alone. It blocks, at most for seconds.
    ///
    /// # Errors
    /// [`StoreError::Unusable`] where this is no place for a file, or no database of SQLite;
    /// [`StoreError::Unavailable`] where others kept it busy.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        // Closing any handle on a file drops the locks that SQLite holds on it in this process, so nobody else may be
        // opening it while it is being created.
        static OPENING: Mutex<()> = Mutex::new(());
        let _opening = OPENING.lock().unwrap_or_else(PoisonError::into_inner);
        let path: Arc<Path> = create(path.as_ref())?.into();
        let connect = || connect(&path).map_err(|error| explain(&path, &error));
        let writer = Writer::start(connect()?, path.clone())?;
        Ok(Self {
            reader: Arc::new(Mutex::new(connect()?)),
            writer,
            path,
        })
    }

    /// The absolute path with symbolic links resolved: the same however the file was named.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads on a thread that may block. It does not wait for whoever writes, and sees every change that was answered
    /// before.
    ///
    /// # Errors
    /// What the work ended in: [`StoreError::Unavailable`] where it may go well in a moment (the file was busy for 5 s,
    /// the disk is full), else [`StoreError::Unusable`]; both name the file.
    pub async fn read<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let file = self.clone();
        match tokio::task::spawn_blocking(move || file.read_blocking(work)).await {
            Ok(result) => result,
            Err(error) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // Only work that has not begun is cancelled.
                Err(_) => Err(StoreError::Unavailable("the program is ending".to_owned())),
            },
        }
    }

    fn read_blocking<T>(&self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StoreError> {
        let connection = self.reader.lock().unwrap_or_else(PoisonError::into_inner);
        work(&connection).map_err(|error| explain(&self.path, &error))
    }

    /// Changes the file. The work is all or nothing, runs with the file's write lock held, and goes on to its end also
    /// where nobody waits for it any more.
    ///
    /// # Errors
    /// As [`SqliteFile::read`]: then it has no effect.
    pub async fn change<T, W>(&self, work: W) -> Result<Change<T>, StoreError>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let (to, answer) = oneshot::channel();
        // Nobody may wait for it any more.
        self.writer.give(work, move |answer| drop(to.send(answer)));
        passed_on(answer.await.ok())
    }

    /// The same, blocking this thread: before anything else is done with the file.
    ///
    /// # Errors
    /// As [`SqliteFile::change`]; a failed commit counts as [`StoreError::Unavailable`].
    pub fn change_blocking<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    {
        let (to, answer) = std::sync::mpsc::channel();
        self.writer.give(work, move |answer| drop(to.send(answer)));
        match passed_on(answer.recv().ok())? {
            Change::Made(made) => Ok(made),
            Change::Unknown(why) => Err(StoreError::Unavailable(why)),
        }
    }
}

/// Makes sure that there is a file, private if it is new, and answers its whole path.
fn create(path: &Path) -> Result<PathBuf, StoreError> {
    let refuse = |error: io::Error| {
        let path = path.display();
        StoreError::Unusable(format!(
            "{path} cannot be opened: {error}; name a file in a folder that can be written"
        ))
    };
    if path.is_dir() {
        return Err(StoreError::Unusable(format!(
            "{} is a folder: name a file in it",
            path.display()
        )));
    }
    let path = std::path::absolute(path).map_err(refuse)?;
    if let Some(folder) = path.parent() {
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.recursive(true).create(folder).map_err(refuse)?;
    }
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.write(true).create_new(true).open(&path) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(refuse(error)),
    }
    path.canonicalize().map_err(refuse)
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut connection = Connection::open_with_flags(path, flags)?;
    if connection.is_readonly(MAIN_DB)? {
        return Err(Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_READONLY), None));
    }
    connection.busy_timeout(BUSY)?;
    // What was answered as written must outlast a loss of power.
    connection.pragma_update(None, "synchronous", "FULL")?;
    use_write_ahead_log(&mut connection)?;
    Ok(connection)
}

/// Switches to the write-ahead log, so that readers and the writer do not wait for each other. SQLite does not wait
/// itself where two processes switch at once.
fn use_write_ahead_log(connection: &mut Connection) -> rusqlite::Result<()> {
    let mut tries = 0;
    loop {
        let switched = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get::<_, String>(0));
        match switched {
            Err(error) if is_busy(&error) && tries < TRIES => tries += 1,
            other => return other.map(drop),
        }
        // Waits for whoever is writing.
        connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?
            .commit()?;
    }
}

/// Whether another process held the file all the time.
fn is_busy(error: &Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
    )
}

/// What an error means to the one who named the file.
pub(super) fn explain(path: &Path, error: &Error) -> StoreError {
    let path = path.display();
    if is_busy(error) {
        let seconds = BUSY.as_secs();
        return StoreError::Unavailable(format!(
            "{path} was kept busy by another process for {seconds} s ({error})"
        ));
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Unavailable(format!("no room left for {path}: {error}")),
        Some(ErrorCode::SystemIoFailure | ErrorCode::OutOfMemory | ErrorCode::OperationInterrupted) => {
            StoreError::Unavailable(format!("{path}: {error}"))
        }
        Some(ErrorCode::NotADatabase) => StoreError::Unusable(format!(
            "{path} is not a SQLite database: name another file or move this one away"
        )),
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            StoreError::Unusable(format!(
                "{path} cannot be written ({error}): allow this user to write it and its folder, or name another file"
            ))
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            StoreError::Unusable(format!("{path} is damaged ({error}): move it away or restore a copy"))
        }
        _ => StoreError::Unusable(format!("{path}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(path: &Path) -> String {
        match SqliteFile::open(path) {
            Err(StoreError::Unusable(text)) => text,
            other => panic!("{} must be unusable: {other:?}", path.display()),
        }
    }

    #[test]
    fn a_folder_is_refused_with_its_path_and_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let text = refusal(folder.path());
        assert!(text.contains(folder.path().to_str().unwrap()), "{text}");
        assert!(text.contains("name a file in it"), "{text}");
    }

    #[test]
    fn a_file_that_is_no_database_is_refused_and_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        let notes = "buy milk and bread\n".repeat(100);
        std::fs::write(&path, &notes).unwrap();
        let text = refusal(&path);
        assert!(text.contains("notes.txt is not a SQLite database"), "{text}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), notes);
    }

    #[test]
    fn a_place_below_a_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("file"), "").unwrap();
        let text = refusal(&folder.path().join("file/matsu.db"));
        assert!(text.contains("name a file in a folder that can be written"), "{text}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_place_where_nobody_can_write_is_refused() {
        let text = refusal(Path::new("/proc/nowhere/matsu.db"));
        assert!(text.contains("/proc/nowhere/matsu.db"), "{text}");
    }

    #[test]
    fn a_database_that_can_only_be_read_is_explained_by_its_path() {
        let error = Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_READONLY), None);
        let StoreError::Unusable(text) = explain(Path::new("/data/matsu.db"), &error) else {
            panic!("a file that cannot be written is unusable");
        };
        assert!(text.starts_with("/data/matsu.db cannot be written"), "{text}");
    }

    #[test]
    fn what_may_go_well_in_a_moment_is_told_from_what_somebody_has_to_mend() {
        let path = Path::new("/data/matsu.db");
        for (code, passing, names) in [
            (ffi::SQLITE_FULL, true, "no room left for /data/matsu.db"),
            (ffi::SQLITE_IOERR, true, "/data/matsu.db: "),
            (ffi::SQLITE_NOMEM, true, "/data/matsu.db: "),
            (ffi::SQLITE_BUSY, true, "/data/matsu.db was kept busy"),
            (ffi::SQLITE_CORRUPT, false, "/data/matsu.db is damaged"),
            (ffi::SQLITE_CANTOPEN, false, "/data/matsu.db cannot be written"),
            (ffi::SQLITE_NOTADB, false, "/data/matsu.db is not a SQLite database"),
            (ffi::SQLITE_MISUSE, false, "/data/matsu.db: "),
        ] {
            let (is_passing, text) = match explain(path, &Error::SqliteFailure(ffi::Error::new(code), None)) {
                StoreError::Unavailable(text) => (true, text),
                StoreError::Unusable(text) => (false, text),
                other => panic!("{other:?}"),
            };
            assert!(is_passing == passing && text.starts_with(names), "{code}: {text}");
        }
    }

    #[test]
    fn a_name_that_no_folder_takes_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let text = refusal(&folder.path().join("x".repeat(300)));
        assert!(text.contains("name a file in a folder that can be written"), "{text}");
    }

    #[cfg(unix)]
    #[test]
    fn new_folders_and_files_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/matsu.db");
        let file = SqliteFile::open(&path).unwrap();
        file.change_blocking(|connection| connection.execute_batch("CREATE TABLE t (x)"))
            .unwrap();
        assert_eq!(mode(&folder.path().join("a")), 0o700);
        assert_eq!(mode(&folder.path().join("a/b")), 0o700);
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(&folder.path().join("a/b/matsu.db-wal")), 0o600);
    }

    #[test]
    fn a_file_has_one_path_however_it_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let straight = SqliteFile::open(folder.path().join("x/matsu.db")).unwrap();
        let around = SqliteFile::open(folder.path().join("x/../x/./matsu.db")).unwrap();
        assert_eq!(straight.path(), around.path());
        assert!(straight.path().is_absolute());
    }

    #[test]
    fn a_name_that_looks_like_a_uri_or_like_memory_is_a_plain_file() {
        let folder = tempfile::tempdir().unwrap();
        for name in [":memory:", "file:matsu.db?mode=memory"] {
            let path = folder.path().join(name);
            drop(SqliteFile::open(&path).unwrap());
            assert!(path.is_file(), "{name}");
        }
    }

    #[test]
    fn many_can_open_a_new_file_at_the_same_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("matsu.db");
        std::thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| SqliteFile::open(&path).unwrap());
            }
        });
    }

    #[tokio::test]
    #[should_panic(expected = "on purpose")]
    async fn a_panic_of_the_work_is_passed_on() {
        let folder = tempfile::tempdir().unwrap();
        let file = SqliteFile::open(folder.path().join("matsu.db")).unwrap();
        let _ = file.read(|_| -> rusqlite::Result<()> { panic!("on purpose") }).await;
    }

    /// As SQLite itself does at some faults of the disk.
    #[tokio::test]
    async fn a_change_that_undoes_the_whole_transaction_is_no_answer_to_those_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = SqliteFile::open(folder.path().join("matsu.db")).unwrap();
        let undone = file.change(|c| c.execute_batch("ROLLBACK")).await;
        assert!(
            matches!(&undone, Err(StoreError::Unavailable(why)) if why.contains("matsu.db: a change beside this one")),
            "{undone:?}"
        );
        let after = file.change(|c| c.execute_batch("CREATE TABLE t (x)")).await;
        assert_eq!(after.unwrap(), Change::Made(()));
    }

    #[tokio::test]
    async fn changes_that_are_made_together_fail_apart() {
        let folder = tempfile::tempdir().unwrap();
        let file = SqliteFile::open(folder.path().join("matsu.db")).unwrap();
        file.change_blocking(|c| c.execute_batch("CREATE TABLE t (x INTEGER PRIMARY KEY)"))
            .unwrap();
        let insert = |number: i64, twice: bool| {
            file.change(move |c| {
                c.execute("INSERT INTO t VALUES (?1)", [number])?;
                if twice {
                    c.execute("INSERT INTO t VALUES (?1)", [number])?;
                }
                Ok(number)
            })
        };
        let other = file.clone();
        let panics = tokio::spawn(async move {
            let work = |c: &Connection| -> rusqlite::Result<()> {
                c.execute("INSERT INTO t VALUES (9)", [])?;
                panic!("on purpose")
            };
            other.change(work).await
        });
        let (first, bad, last) = tokio::join!(insert(1, false), insert(2, true), insert(3, false));
        assert_eq!(first.unwrap(), Change::Made(1));
        assert!(bad.is_err());
        assert_eq!(last.unwrap(), Change::Made(3));
        assert!(panics.await.unwrap_err().is_panic());
        let rows = |c: &Connection| {
            let mut all = c.prepare("SELECT x FROM t ORDER BY x")?;
            all.query_map([], |row| row.get(0))?
                .collect::<rusqlite::Result<Vec<i64>>>()
        };
        assert_eq!(file.read(rows).await.unwrap(), [1, 3]);
    }
}
