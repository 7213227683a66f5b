//! A file of this machine: local only, the path literal.

use std::borrow::Cow;
use std::io::ErrorKind;
use std::path::Path;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{BadTarget, Kind, Seen, Targets, Until};
use crate::wait::Extra;

/// A file, or a folder, or a link: whatever has that name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct File {
    /// Its path, absolute; nothing in it is decoded or tidied.
    pub path: String,
    /// Whether it is to be there or gone.
    #[serde(default)]
    pub until: Until,
    /// Fields of a later release; the key passes over them.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A target as people type it in `folder`: a relative `file:` path becomes absolute, everything else stays as it is.
/// Whoever reads the target later may stand elsewhere, so [`File`] takes absolute paths only.
#[must_use]
pub fn absolute<'a>(text: &'a str, folder: &Path) -> Cow<'a, str> {
    match text.strip_prefix("file:") {
        Some(path) if !path.is_empty() && !Path::new(path).is_absolute() => {
            Cow::Owned(format!("file:{}", folder.join(path).display()))
        }
        _ => Cow::Borrowed(text),
    }
}

impl File {
    pub(super) fn parse(text: &str, until: Option<Until>) -> Result<Self, BadTarget> {
        Self::new(text.strip_prefix("file:").unwrap_or(text), until.unwrap_or_default())
    }

    pub(super) fn new(path: &str, until: Until) -> Result<Self, BadTarget> {
        if path.is_empty() {
            return Err(BadTarget::new("file: names no file: it takes file:PATH"));
        }
        if path.contains('\0') {
            return Err(BadTarget::new(format!(
                "file:{} cannot be: a path has no NUL",
                path.escape_default()
            )));
        }
        if !Path::new(path).is_absolute() {
            return Err(BadTarget::new(format!(
                "file:{path} depends on the folder it is read in: it takes an absolute path"
            )));
        }
        Ok(Self {
            path: path.to_owned(),
            until,
            extra: Extra::new(),
        })
    }
}

#[async_trait]
impl Kind for File {
    fn word(&self) -> &'static str {
        "file"
    }

    fn key(&self) -> String {
        format!("file={}={}", self.until.word(), self.path)
    }

    fn until(&self) -> Option<Until> {
        Some(self.until)
    }

    /// Looks whether the name is there. A link is not followed: one that leads nowhere is there all the same.
    async fn look(&self, _: &Targets) -> Seen {
        let found = tokio::fs::symlink_metadata(&self.path).await;
        classify(
            self.until,
            &self.path,
            found.map(|_| ()).map_err(|e| (e.kind(), e.to_string())),
        )
    }
}

fn classify(until: Until, path: &str, found: Result<(), (ErrorKind, String)>) -> Seen {
    let there = match found {
        Ok(()) => true,
        // The second: something on the way to it is a file, so nothing can be below.
        Err((ErrorKind::NotFound | ErrorKind::NotADirectory, _)) => false,
        Err((ErrorKind::PermissionDenied, words)) => {
            return Seen::Denied(format!("{path}: {words} (let this user search the folders above it)"));
        }
        Err((ErrorKind::InvalidFilename | ErrorKind::InvalidInput, words)) => {
            return Seen::Denied(format!("{path}: {words}"));
        }
        Err((_, words)) => return Seen::Unknown(format!("{path}: {words}")),
    };
    until.seen(there)
}

impl std::fmt::Display for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "file:{}", self.path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Here;
    use crate::wait::Status;

    async fn look(file: &File) -> Seen {
        file.look(&Targets::new(None, Here::default())).await
    }

    fn satisfied(text: &str) -> Seen {
        Seen::Satisfied(Status::new(text))
    }

    fn pending(text: &str) -> Seen {
        Seen::Pending(Status::new(text))
    }

    #[test]
    fn a_path_is_taken_literally() {
        for path in ["/a b", "/a%20b", "/a#b?c", "//a//b/", "/a/../b", "/ä", "/ a\n"] {
            let file = File::parse(&format!("file:{path}"), None).unwrap();
            assert_eq!(file.path, path);
            assert_eq!(file.to_string(), format!("file:{path}"));
        }
    }

    #[test]
    fn an_empty_a_relative_and_an_impossible_path_are_refused_with_a_sentence() {
        for (text, says) in [
            ("file:", "names no file"),
            ("file:a/b", "absolute"),
            ("file:./a", "absolute"),
            ("file:/a\0b", "NUL"),
        ] {
            let error = File::parse(text, None).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn only_a_relative_file_is_made_absolute() {
        let folder = Path::new("/home/me");
        for (typed, becomes) in [
            ("file:a/b", "file:/home/me/a/b"),
            ("file:/a", "file:/a"),
            ("file:", "file:"),
            ("s3://b/file:a", "s3://b/file:a"),
        ] {
            assert_eq!(absolute(typed, folder), becomes);
        }
    }

    #[test]
    fn a_file_is_there_or_absent_and_an_error_is_neither() {
        let table = [
            (Until::Exists, Ok(()), satisfied("exists")),
            (Until::Deleted, Ok(()), pending("exists")),
            (Until::Exists, Err(ErrorKind::NotFound), pending("absent")),
            (Until::Deleted, Err(ErrorKind::NotFound), satisfied("deleted")),
            (Until::Deleted, Err(ErrorKind::NotADirectory), satisfied("deleted")),
        ];
        for (until, found, seen) in table {
            assert_eq!(classify(until, "/p", found.map_err(|kind| (kind, String::new()))), seen);
        }
        for until in [Until::Exists, Until::Deleted] {
            let denied = classify(until, "/p", Err((ErrorKind::PermissionDenied, "no".to_owned())));
            assert!(matches!(denied, Seen::Denied(why) if why.contains("/p")));
            let broken = classify(until, "/p", Err((ErrorKind::TimedOut, "slow".to_owned())));
            assert!(matches!(broken, Seen::Unknown(why) if why.contains("slow")));
        }
    }

    #[tokio::test]
    async fn a_real_file_is_seen_come_and_go() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b%20#?");
        let at = |until| File::new(path.to_str().unwrap(), until).unwrap();
        assert_eq!(look(&at(Until::Exists)).await, pending("absent"));
        assert_eq!(look(&at(Until::Deleted)).await, satisfied("deleted"));
        std::fs::write(&path, "").unwrap();
        assert_eq!(look(&at(Until::Exists)).await, satisfied("exists"));
        assert_eq!(look(&at(Until::Deleted)).await, pending("exists"));
        let below = File::new(&format!("{}/below", path.display()), Until::Exists).unwrap();
        assert_eq!(look(&below).await, pending("absent"), "nothing can be below a file");
    }

    #[cfg(unix)]
    #[tokio::test]
    async fn a_link_that_leads_nowhere_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("link");
        std::os::unix::fs::symlink("/nowhere/at/all", &path).unwrap();
        let file = File::new(path.to_str().unwrap(), Until::Exists).unwrap();
        assert_eq!(look(&file).await, satisfied("exists"));
    }

    #[tokio::test]
    async fn a_name_that_cannot_be_is_not_taken_for_an_absent_file() {
        let file = File::new(&format!("/{}", "a".repeat(300)), Until::Deleted).unwrap();
        assert!(matches!(look(&file).await, Seen::Denied(_)));
    }
}
