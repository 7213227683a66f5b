//! Reads what S3 answers into the words of the port.

use aws_sdk_s3::operation::get_object::GetObjectOutput;
use aws_sdk_s3::primitives::DateTime;
use aws_sdk_s3::types::Object;
use jiff::Timestamp;

use super::LONGEST_BODY;
use crate::store::{Listed, StoreError, Token, is_open};

/// The body of an answer about `place`, if it is no longer than those that this store writes.
pub(super) async fn body(place: &str, answer: &mut GetObjectOutput) -> Result<Vec<u8>, StoreError> {
    let too_long = || {
        StoreError::Unusable(format!(
            "{place} has more than {LONGEST_BODY} bytes: not written by this store"
        ))
    };
    let length = usize::try_from(answer.content_length.unwrap_or_default()).unwrap_or_default();
    if length > LONGEST_BODY {
        return Err(too_long());
    }
    let mut body = Vec::with_capacity(length);
    loop {
        let chunk = answer.body.try_next().await;
        let chunk =
            chunk.map_err(|error| StoreError::Unavailable(format!("{place}: the answer broke off: {error}")))?;
        let Some(chunk) = chunk else { return Ok(body) };
        body.extend_from_slice(&chunk);
        if body.len() > LONGEST_BODY {
            return Err(too_long());
        }
    }
}

/// A line of a listing, its key without the store's `prefix`.
pub(super) fn listed(prefix: &str, object: Object) -> Result<Listed, StoreError> {
    let Object {
        key: Some(key),
        e_tag: Some(tag),
        last_modified: Some(written),
        size: Some(size),
        ..
    } = object
    else {
        return Err(StoreError::Unusable(
            "a listing lacks keys, ETags, times or sizes".to_owned(),
        ));
    };
    let Some(key) = key.strip_prefix(prefix) else {
        return Err(StoreError::Unusable(format!("a listing of {prefix} holds {key}")));
    };
    Ok(Listed {
        key: key.to_owned(),
        token: Token::new(tag),
        written: timestamp(written)?,
        open: is_open(size.unsigned_abs()),
    })
}

/// The SDK's time in ours.
pub(super) fn timestamp(time: DateTime) -> Result<Timestamp, StoreError> {
    let nanoseconds = i32::try_from(time.subsec_nanos()).unwrap_or_default();
    Timestamp::new(time.secs(), nanoseconds)
        .map_err(|error| StoreError::Unusable(format!("an answer has an impossible time: {error}")))
}
