//! Events of RDS snapshots, through EventBridge or through an event subscription. They are told apart by their ids, as
//! listed in the RDS and Aurora user guides under "event categories and event messages"; the wording changes.

use super::fields::{Fields, quoted};
use super::wrapped::Place;
use super::{BadEvent, Wanted};
use crate::aws::Family;
use crate::job::CopyRequest;
use crate::target::Target;

/// What happened to a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Happened {
    /// It was created, and is no copy.
    Created,
    /// It is a copy, and its copying has ended one way or the other.
    CopyEnded,
    /// Nothing that anything is done for: still creating, a copy that started, deleted, exported, restored.
    Else,
}

/// An event, from wherever it came.
struct Event<'a> {
    family: Family,
    id: &'a str,
    arn: Option<String>,
    /// The place of the ARN, for messages.
    arn_at: String,
    origin: &'a str,
}

/// Reads an EventBridge event of RDS.
pub(super) fn event_bridge(kind: &str, event: &Fields<'_>, place: &Place<'_>) -> Result<Wanted, BadEvent> {
    let family = match kind {
        "RDS DB Snapshot Event" => Family::Instance,
        "RDS DB Cluster Snapshot Event" => Family::Cluster,
        _ => return Ok(Wanted::Ignored(format!("{} is not acted on", quoted(kind)))),
    };
    let detail = event.object("detail")?;
    Event {
        family,
        id: detail.need("EventID")?,
        arn: detail.text("SourceArn")?.map(str::to_owned),
        arn_at: detail.path("SourceArn"),
        origin: event.hint("id").unwrap_or(&place.origin),
    }
    .wanted(place)
}

/// Reads an event of an RDS event subscription, whose keys have spaces.
pub(super) fn subscription(event: &Fields<'_>, place: &Place<'_>) -> Result<Wanted, BadEvent> {
    let source = event.need("Event Source")?.trim();
    let family = match source {
        "db-snapshot" => Family::Instance,
        "db-cluster-snapshot" => Family::Cluster,
        _ => return Ok(Wanted::Ignored(format!("{} events are not acted on", quoted(source)))),
    };
    let arn = match event.text("Source ARN")? {
        Some(arn) => Some(arn.to_owned()),
        None => event
            .text("Source ID")?
            .zip(place.topic.as_deref())
            .and_then(|(id, topic)| beside(topic, family, id)),
    };
    Event {
        family,
        id: event.need("Event ID")?,
        arn,
        arn_at: event.path("Source ARN"),
        origin: &place.origin,
    }
    .wanted(place)
}

impl Happened {
    fn of(family: Family, id: &str) -> Self {
        match (family, id) {
            // Manual (also AWS Backup's), automated.
            (Family::Instance, "RDS-EVENT-0042" | "RDS-EVENT-0091") => Self::Created,
            (Family::Cluster, "RDS-EVENT-0075" | "RDS-EVENT-0169") => Self::Created,
            // From another region: finished, cancelled. Within the region: finished, cancelled.
            // They are listed for instances; should a cluster's come, an early look does no harm.
            (_, "RDS-EVENT-0060" | "RDS-EVENT-0061" | "RDS-EVENT-0197" | "RDS-EVENT-0190") => Self::CopyEnded,
            _ => Self::Else,
        }
    }
}

impl Event<'_> {
    fn wanted(self, place: &Place<'_>) -> Result<Wanted, BadEvent> {
        // A subscription gives a link to the manual, with the id as its fragment.
        let id = self.id.rsplit('#').next().unwrap_or(self.id).trim();
        let of = self.arn.as_deref().map(|arn| (arn, family_of(arn)));
        let family = of.and_then(|(_, family)| family).unwrap_or(self.family);
        match (Happened::of(family, id), of) {
            (Happened::Created, Some((arn, Some(_)))) => Ok(Wanted::Copy {
                request: CopyRequest {
                    source: arn.to_owned(),
                    by_event: true,
                    ..CopyRequest::default()
                },
                policy: place.rules.policy.clone(),
                origin: self.origin.to_owned(),
            }),
            (Happened::CopyEnded, Some((arn, Some(_)))) => Target::parse(arn, None, &place.rules.here)
                .map(Wanted::Wake)
                .map_err(|e| BadEvent(format!("{}: {e}", self.arn_at))),
            (Happened::Created, None) => Err(BadEvent(format!(
                "{} is missing: it takes the ARN of a snapshot",
                self.arn_at
            ))),
            (Happened::CopyEnded, None) => Ok(Wanted::Ignored(format!("{id}: the copy is not named"))),
            (Happened::Created | Happened::CopyEnded, Some((arn, None))) => Err(BadEvent(format!(
                "{} is {}: it takes the ARN of a snapshot",
                self.arn_at,
                quoted(arn)
            ))),
            (Happened::Else, _) => Ok(Wanted::Ignored(format!("{} is not acted on", quoted(id)))),
        }
    }
}

/// What the snapshot of an ARN is of; none where it is no ARN of a snapshot. Ids of automated snapshots contain colons.
fn family_of(arn: &str) -> Option<Family> {
    let parts: Vec<&str> = arn.splitn(7, ':').collect();
    match parts[..] {
        ["arn", partition, "rds", region, account, kind, id]
            if [partition, region, account, id].iter().all(|part| !part.is_empty()) =>
        {
            match kind {
                "snapshot" => Some(Family::Instance),
                "cluster-snapshot" => Some(Family::Cluster),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The ARN of a snapshot that lies where the topic of its event lies: older subscriptions do not name it.
fn beside(topic: &str, family: Family, id: &str) -> Option<String> {
    let parts: Vec<&str> = topic.split(':').collect();
    let kind = family.resource();
    match parts[..] {
        ["arn", partition, "sns", region, account, _] => {
            Some(format!("arn:{partition}:rds:{region}:{account}:{kind}:{id}"))
        }
        _ => None,
    }
}
