//! Snapshots of clusters.

use aws_sdk_rds::Client;
use aws_sdk_rds::types::DbClusterSnapshot;

use super::{Described, MOST_RECORDS, Order, Sought, filter, time};
use crate::aws::Fault;

pub(super) async fn describe(client: &Client, sought: Sought<'_>) -> Result<Vec<Described>, Fault> {
    let request = client.describe_db_cluster_snapshots();
    let request = match sought {
        Sought::One { id, made_by } => request
            .db_cluster_snapshot_identifier(id)
            .set_snapshot_type(made_by.map(str::to_owned)),
        Sought::Several { ids, made_by } => request
            .filters(filter("db-cluster-snapshot-id", ids))
            .set_snapshot_type(made_by.map(str::to_owned))
            .max_records(MOST_RECORDS),
        Sought::Shared { arn } => request.db_cluster_snapshot_identifier(arn).include_shared(true),
    };
    let mut found = Vec::new();
    let mut snapshots = request.into_paginator().items().send();
    while let Some(snapshot) = snapshots.next().await {
        found.push(described(snapshot.map_err(|e| Fault::of(&e))?));
    }
    Ok(found)
}

fn described(snapshot: DbClusterSnapshot) -> Described {
    Described {
        id: snapshot.db_cluster_snapshot_identifier.unwrap_or_default(),
        status: snapshot.status,
        percent: snapshot.percent_progress,
        of: snapshot.db_cluster_identifier,
        source: snapshot.source_db_cluster_snapshot_arn.filter(|from| !from.is_empty()),
        created: snapshot.snapshot_create_time.and_then(time),
        original: None,
        tags: snapshot.tag_list.unwrap_or_default(),
    }
}

pub(super) async fn copy(client: &Client, order: Order<'_>) -> Result<(), Fault> {
    let request = client
        .copy_db_cluster_snapshot()
        .source_db_cluster_snapshot_identifier(order.source)
        .target_db_cluster_snapshot_identifier(order.target)
        .set_kms_key_id(order.kms_key)
        .set_tags(order.tags)
        .set_pre_signed_url(order.pre_signed_url);
    request.send().await.map(|_| ()).map_err(|e| Fault::of(&e))
}
