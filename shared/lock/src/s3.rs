//! The store over the conditional writes of S3.
//!
//! | a PUT is answered | it came to |
//! |---|---|
//! | 200 | written |
//! | 412; 404 `NoSuchKey` when replacing | refused |
//! | 409 | the same PUT again a few times, then unknown |
//! | nothing (time-out, reset), 408, 429, 5xx | unknown |
//! | anything but 200 after the SDK had tried before | unknown: what came of the earlier attempt is not told |
//! | 501, or 400 about the condition | [`StoreError::Unusable`]: no conditional writes |
//! | 403 `RequestTimeTooSkewed`, expired credentials | [`StoreError::Unavailable`]: passing, nothing was written |
//! | another 403 | [`StoreError::Denied`] |
//! | 404 `NoSuchBucket`, 301, another 400 | [`StoreError::Unusable`] |
//!
//! Where nothing was sent at all, for want of credentials or settings, nothing was written and the answer is an error.
//! A GET is an absence only if it is answered 404 `NoSuchKey`. Time limits and attempts are the client's: see its
//! configuration.

mod answer;
mod exchange;
mod failure;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_s3::Client;
use aws_sdk_s3::operation::put_object::builders::PutObjectFluentBuilder;
use aws_sdk_s3::primitives::ByteStream;
use aws_sdk_s3::types::{ChecksumAlgorithm, ServerSideEncryption};

use crate::store::{Page, Store, StoreError, Stored, Token, Write};
use crate::{Clock, Random};
use exchange::Exchange;
use failure::{Failure, Fault};

/// How many lines a page of a listing has at most: the most that S3 gives.
const PAGE: i32 = 1000;

/// How long a key may be in bytes, the store's prefix included: S3's limit.
const LONGEST_KEY: usize = 1024;

/// How long a body may be in bytes: a longer one is neither written nor read into memory.
const LONGEST_BODY: usize = 1024 * 1024;

/// How often a PUT is made that meets a conflict (409) every time.
const CONFLICT_TRIES: u32 = 4;

/// The least wait before the same PUT after a conflict; the most is twice as long and doubles from try to try.
const CONFLICT_WAIT: Duration = Duration::from_millis(50);

/// With what S3 is told to encrypt what is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Encryption {
    /// S3's own keys (`AES256`).
    S3,
    /// A key of KMS, by its id, ARN or alias.
    Kms(String),
}

/// A [`Store`] in one bucket, under one prefix.
#[derive(Debug)]
pub struct S3Store {
    client: Client,
    bucket: String,
    /// Empty, or ending in a slash.
    prefix: String,
    encryption: Option<Encryption>,
    clock: Arc<dyn Clock>,
    random: Arc<dyn Random>,
}

impl S3Store {
    /// The store under `prefix` in `bucket`. A key is joined to the prefix by a slash, except to an empty one. Without
    /// `encryption` the bucket's own setting applies.
    #[must_use]
    pub fn new(
        client: Client,
        bucket: impl Into<String>,
        prefix: impl AsRef<str>,
        encryption: Option<Encryption>,
        clock: Arc<dyn Clock>,
        random: Arc<dyn Random>,
    ) -> Self {
        let prefix = prefix.as_ref().trim_end_matches('/');
        Self {
            client,
            bucket: bucket.into(),
            prefix: if prefix.is_empty() {
                String::new()
            } else {
                format!("{prefix}/")
            },
            encryption,
            clock,
            random,
        }
    }

    /// The object's key.
    fn object(&self, key: &str) -> Result<String, StoreError> {
        let object = format!("{}{key}", self.prefix);
        match object.len() {
            0..=LONGEST_KEY => Ok(object),
            length => Err(StoreError::Unusable(format!(
                "a key of S3 has at most {LONGEST_KEY} bytes, this one has {length}: {object}"
            ))),
        }
    }

    fn place(&self, object: &str) -> String {
        format!("s3://{}/{object}", self.bucket)
    }

    /// Writes over the version `before`, or creates where it is none.
    async fn write(&self, key: &str, before: Option<&Token>, body: Vec<u8>) -> Result<Write, StoreError> {
        let object = self.object(key)?;
        if body.len() > LONGEST_BODY {
            let place = self.place(&object);
            return Err(StoreError::Unusable(format!(
                "a body of {place} has at most {LONGEST_BODY} bytes"
            )));
        }
        let (mut tries, mut wait) = (1, CONFLICT_WAIT);
        loop {
            match self.put(&object, before, body.clone()).await {
                Ok(write) => return Ok(write),
                Err(Fault::Refused) => return Ok(Write::Refused),
                Err(Fault::Unknown(text)) => return Ok(Write::Unknown(text)),
                Err(Fault::Nothing(error)) => return Err(error),
                Err(Fault::Conflict(text)) if tries >= CONFLICT_TRIES => return Ok(Write::Unknown(text)),
                Err(Fault::Conflict(text)) => tracing::debug!(tries, "a conflicting write is under way: {text}"),
            }
            self.clock.sleep(self.random.between(wait, wait * 2)).await;
            tries += 1;
            wait *= 2;
        }
    }

    async fn put(&self, object: &str, before: Option<&Token>, body: Vec<u8>) -> Result<Write, Fault> {
        let request = self
            .client
            .put_object()
            .bucket(&self.bucket)
            .key(object)
            .body(ByteStream::from(body));
        // Buckets with Object Lock refuse a PUT without a checksum.
        let request = self.encrypted(request.checksum_algorithm(ChecksumAlgorithm::Crc32));
        let request = match before {
            None => request.if_none_match("*"),
            Some(token) => request.if_match(token.as_str()),
        };
        let exchange = Exchange::default();
        let answer = request.customize().interceptor(exchange.clone()).send().await;
        let answer = answer
            .map_err(|error| Failure::new(&error, exchange.sends(), &self.place(object)).of_write(before.is_some()))?;
        Ok(match answer.e_tag {
            Some(tag) => Write::Written {
                token: Token::new(tag),
                date: exchange.date(),
            },
            None => Write::Unknown(format!(
                "{} was written, but the answer has no ETag",
                self.place(object)
            )),
        })
    }

    fn encrypted(&self, request: PutObjectFluentBuilder) -> PutObjectFluentBuilder {
        match &self.encryption {
            None => request,
            Some(Encryption::S3) => request.server_side_encryption(ServerSideEncryption::Aes256),
            Some(Encryption::Kms(key)) => request
                .server_side_encryption(ServerSideEncryption::AwsKms)
                .ssekms_key_id(key),
        }
    }
}

#[async_trait]
impl Store for S3Store {
    async fn get(&self, key: &str) -> Result<Option<Stored>, StoreError> {
        let object = self.object(key)?;
        let request = self.client.get_object().bucket(&self.bucket).key(&object);
        let exchange = Exchange::default();
        let mut answer = match request.customize().interceptor(exchange.clone()).send().await {
            Ok(answer) => answer,
            Err(error) => {
                let failure = Failure::new(&error, exchange.sends(), &self.place(&object));
                return if failure.is_absence() {
                    Ok(None)
                } else {
                    Err(failure.of_read("s3:GetObject"))
                };
            }
        };
        let body = answer::body(&self.place(&object), &mut answer).await?;
        let Some(tag) = answer.e_tag else {
            return Err(StoreError::Unusable(format!(
                "{}: the answer has no ETag",
                self.place(&object)
            )));
        };
        Ok(Some(Stored {
            body,
            token: Token::new(tag),
            date: exchange.date(),
            written: answer.last_modified.map(answer::timestamp).transpose()?,
        }))
    }

    async fn create(&self, key: &str, body: Vec<u8>) -> Result<Write, StoreError> {
        self.write(key, None, body).await
    }

    async fn replace(&self, key: &str, token: &Token, body: Vec<u8>) -> Result<Write, StoreError> {
        self.write(key, Some(token), body).await
    }

    async fn list(&self, prefix: &str, after: Option<&str>) -> Result<Page, StoreError> {
        let prefix = self.object(prefix)?;
        let request = self
            .client
            .list_objects_v2()
            .bucket(&self.bucket)
            .prefix(&prefix)
            .max_keys(PAGE);
        let request = request.set_continuation_token(after.map(str::to_owned));
        let exchange = Exchange::default();
        let answer = request.customize().interceptor(exchange.clone()).send().await;
        let answer = answer
            .map_err(|error| Failure::new(&error, exchange.sends(), &self.place(&prefix)).of_read("s3:ListBucket"))?;
        let next = answer
            .next_continuation_token
            .filter(|_| answer.is_truncated == Some(true));
        if answer.is_truncated == Some(true) && next.is_none() {
            let place = self.place(&prefix);
            return Err(StoreError::Unusable(format!(
                "{place}: a listing that goes on does not say where"
            )));
        }
        let entries = answer
            .contents
            .unwrap_or_default()
            .into_iter()
            .map(|object| answer::listed(&self.prefix, object));
        Ok(Page {
            entries: entries.collect::<Result<_, _>>()?,
            next,
        })
    }
}

#[cfg(test)]
mod tests;
