//! What the typed answers of the SDK hide: how often a request went out, and the store's time of day.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use aws_sdk_s3::config::interceptors::{
    BeforeDeserializationInterceptorContextRef, BeforeTransmitInterceptorContextRef,
};
use aws_sdk_s3::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_s3::error::BoxError;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;

/// Watches one request with all attempts that the SDK makes of it. Clones watch the same request.
#[derive(Debug, Clone, Default)]
pub(super) struct Exchange(Arc<Mutex<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    sends: u32,
    date: Option<Timestamp>,
}

impl Exchange {
    /// How often the request was handed to the network.
    pub(super) fn sends(&self) -> u32 {
        self.seen().sends
    }

    /// The `Date` of the last answer.
    pub(super) fn date(&self) -> Option<Timestamp> {
        self.seen().date
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Intercept for Exchange {
    fn name(&self) -> &'static str {
        "Exchange"
    }

    fn read_before_transmit(
        &self,
        _context: &BeforeTransmitInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        self.seen().sends += 1;
        Ok(())
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        let date = context.response().headers().get("date");
        self.seen().date = date.and_then(|text| DateTimeParser::new().parse_timestamp(text).ok());
        Ok(())
    }
}
