//! Writing to people: results on standard output, everything else on standard error.

use std::fmt::Display;
use std::io::{ErrorKind, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::failure::Failure;

/// Prints a result; colours only where they are seen. A reader who has gone away is no failure.
pub(crate) fn result(text: impl Display) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    written(writeln!(out, "{text}").and_then(|()| out.flush()))
}

/// Prints a result as it is.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    written(out.write_all(bytes).and_then(|()| out.flush()))
}

fn written(done: std::io::Result<()>) -> Result<(), Failure> {
    match done {
        Err(fault) if fault.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::Service(format!("standard output cannot be written: {fault}")))
        }
        _ => Ok(()),
    }
}

/// Prints a result as one JSON document.
pub(crate) fn json(document: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string(document).map_err(|e| Failure::Service(format!("no JSON: {e}")))?;
    result(text)
}

/// A line beside the results.
pub(crate) fn note(text: impl Display) {
    // Where standard error cannot be written there is nobody to tell.
    let _ = writeln!(anstream::stderr(), "matsu: {text}");
}

/// Says why the command came to nothing; its exit code.
pub(crate) fn failure(failure: &Failure) -> ExitCode {
    note(failure);
    ExitCode::from(failure.code())
}

/// A word as a shell reads it back.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quoted_word_is_what_a_shell_reads_back() {
        for (word, quoted_word) in [
            ("s3://bucket/key", "s3://bucket/key"),
            ("file:/a b", "'file:/a b'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
            ("$HOME", "'$HOME'"),
        ] {
            assert_eq!(quoted(word), quoted_word);
        }
    }
}
