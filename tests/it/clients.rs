//! Store and queue of the emulator as the product reaches them.

use std::sync::Arc;

use aws_sdk_s3::config::{BehaviorVersion, Credentials, Region};
use matsu_lock::{OsRandom, S3Store, SystemClock};
use matsu_wait::queue::SqsQueue;

use crate::servers::{ACCOUNT, REGION};

/// The store below `matsu/` in a bucket, reached at `url`.
pub(crate) fn store(url: &str, bucket: &str) -> Arc<S3Store> {
    let config = aws_sdk_s3::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new(REGION))
        .credentials_provider(Credentials::new(ACCOUNT, "test", None, None, "test"))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(url)
        .force_path_style(true)
        .build();
    let client = aws_sdk_s3::Client::from_conf(config);
    Arc::new(S3Store::new(
        client,
        bucket,
        "matsu",
        None,
        Arc::new(SystemClock),
        Arc::new(OsRandom),
    ))
}

/// A queue of the emulator, reached at `url`.
pub(crate) fn queue(url: &str, queue: &str) -> Arc<SqsQueue> {
    let config = aws_sdk_sqs::Config::builder()
        .behavior_version(aws_sdk_sqs::config::BehaviorVersion::latest())
        .region(aws_sdk_sqs::config::Region::new(REGION))
        .credentials_provider(aws_sdk_sqs::config::Credentials::new(
            ACCOUNT, "test", None, None, "test",
        ))
        .http_client(aws_smithy_http_client::Builder::new().build_http())
        .endpoint_url(url)
        .build();
    let client = aws_sdk_sqs::Client::from_conf(config);
    let queue = SqsQueue::new(client, queue, None, Arc::new(SystemClock), Arc::new(OsRandom));
    Arc::new(queue.expect("a queue has a URL"))
}
