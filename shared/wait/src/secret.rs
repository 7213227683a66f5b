//! Secrets by reference: what a reference says, and the text behind it, read once in a process.
//!
//! A reference is `kms:BASE64` (a ciphertext, encrypted with or without the context of the Lambda console), `ssm:NAME`
//! (a parameter, decrypted) or `secretsmanager:ID` (a secret's text; `secretsmanager:ID#FIELD` is one field of it where
//! it is a JSON object).

mod read;
mod reference;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

pub use reference::Reference;
pub(crate) use reference::{Plain, decode, what_is};

use crate::aws::Aws;

/// How long reading one may take.
const READ: Duration = Duration::from_secs(4);

/// The text of a secret. It never shows itself.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// A secret's text without the white space around it, which is an accident of how it was put there.
    pub(crate) fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The text itself, for whoever sends it where it belongs.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// Why a secret could not be read; no secret in the words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unread {
    /// It may be different in a moment.
    Later(String),
    /// Somebody has to do something about it.
    Never(String),
}

/// The secrets of a process. What was read stays, what failed is read again at the next need.
#[derive(Debug)]
pub struct Secrets {
    aws: Option<Arc<Aws>>,
    /// The name of the Lambda function that this is, if it is one.
    function: Option<String>,
    held: Mutex<HashMap<Reference, Held>>,
}

/// One secret: whoever reads it holds the lock, and the others find what it has read.
type Held = Arc<tokio::sync::Mutex<Option<Secret>>>;

impl Secrets {
    /// Nothing is read yet. `function` is the name of the Lambda function that this is: its console encrypts with that.
    #[must_use]
    pub fn new(aws: Option<Arc<Aws>>, function: Option<String>) -> Self {
        Self {
            aws,
            function,
            held: Mutex::default(),
        }
    }

    /// The secret, read at the first need.
    pub(crate) async fn read(&self, reference: &Reference) -> Result<Secret, Unread> {
        self.other_than(None, reference).await
    }

    /// The secret, read again unless that has happened since `refused` was read: where it was refused, it may have been
    /// rotated.
    pub(crate) async fn again(&self, reference: &Reference, refused: &Secret) -> Result<Secret, Unread> {
        self.other_than(Some(refused), reference).await
    }

    async fn other_than(&self, refused: Option<&Secret>, reference: &Reference) -> Result<Secret, Unread> {
        let held = self.held(reference);
        let mut held = held.lock().await;
        match held.as_ref() {
            Some(secret) if Some(secret) != refused => Ok(secret.clone()),
            _ => {
                let secret = self.fetch(reference).await?;
                Ok(held.insert(secret).clone())
            }
        }
    }

    fn held(&self, reference: &Reference) -> Held {
        // What the lock guards is whole at any moment, also after a panic elsewhere.
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.entry(reference.clone()).or_default().clone()
    }

    async fn fetch(&self, reference: &Reference) -> Result<Secret, Unread> {
        let Some(aws) = self.aws.as_deref() else {
            return Err(Unread::Never(format!(
                "{reference} is in AWS, and nothing here is set up for AWS"
            )));
        };
        let read = tokio::time::timeout(READ, read::text(aws, self.function.as_deref(), reference)).await;
        let text =
            read.map_err(|_| Unread::Later(format!("{reference} was not read within {} s", READ.as_secs())))??;
        let secret = Secret::new(&text);
        if secret.text().is_empty() {
            return Err(Unread::Never(format!("{reference} is empty")));
        }
        Ok(secret)
    }
}
