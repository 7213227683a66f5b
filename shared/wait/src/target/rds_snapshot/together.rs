//! Many looks with few requests: one for all snapshots of our own that one API tells of in one region.

use std::collections::BTreeMap;

use futures::future::join_all;

use super::{RdsSnapshot, probe};
use crate::aws::rds::{MOST_IDS, Sought};
use crate::aws::{Aws, Family};
use crate::target::{Here, Kind, Seen, Targets};

/// What one request can ask for: the API, the region, and whoever made the snapshots.
type Call<'a> = (Family, &'a str, Option<&'static str>);

/// Those to look at, by their ids in lower case; several may be the same snapshot. Each has its place in the answer.
type Wanted<'a> = BTreeMap<String, Vec<(usize, &'a RdsSnapshot)>>;

impl RdsSnapshot {
    /// What those have in common that one request can ask for; none: it is another account's. Where nobody said which
    /// account is ours, any may be.
    pub(in crate::target) fn together(&self, here: &Here) -> Option<String> {
        let foreign = here.account.as_ref().is_some_and(|own| *own != self.account);
        let (family, region, made_by) = self.call();
        (!foreign).then(|| format!("{family:?} {region} {} {made_by:?}", self.account))
    }

    fn call(&self) -> Call<'_> {
        (self.family, &self.region, self.made_by())
    }
}

/// Looks at each, and answers with its place. Those of other accounts are looked at one by one.
pub(in crate::target) async fn look_all(snapshots: Vec<(usize, &RdsSnapshot)>, from: &Targets) -> Vec<(usize, Seen)> {
    let aws = match from.aws.as_deref() {
        Some(aws) if !snapshots.is_empty() => aws,
        _ => return alone(snapshots, from).await,
    };
    let Ok(own) = from.here.own_account(aws).await else {
        return alone(snapshots, from).await;
    };
    let (own, shared): (Vec<_>, Vec<_>) = snapshots.into_iter().partition(|(_, s)| s.account == own);
    let mut calls: BTreeMap<Call<'_>, Wanted<'_>> = BTreeMap::new();
    for (place, snapshot) in own {
        let same = calls
            .entry(snapshot.call())
            .or_default()
            .entry(snapshot.id.to_ascii_lowercase());
        same.or_default().push((place, snapshot));
    }
    let calls = calls
        .into_iter()
        .flat_map(|(call, wanted)| portions(wanted).into_iter().map(move |wanted| (call, wanted)));
    let calls = join_all(calls.map(|(call, wanted)| one_call(call, wanted, aws, from)));
    let (called, looked) = futures::join!(calls, alone(shared, from));
    called.into_iter().flatten().chain(looked).collect()
}

/// As many at a time as one request can ask for.
fn portions(wanted: Wanted<'_>) -> Vec<Wanted<'_>> {
    let mut portions: Vec<Wanted<'_>> = Vec::new();
    for (id, same) in wanted {
        match portions.last_mut() {
            Some(portion) if portion.len() < MOST_IDS => {
                portion.insert(id, same);
            }
            _ => portions.push(BTreeMap::from([(id, same)])),
        }
    }
    portions
}

/// One request for all of them. A refusal may be about one alone, so then each is asked for by itself.
async fn one_call(call: Call<'_>, wanted: Wanted<'_>, aws: &Aws, from: &Targets) -> Vec<(usize, Seen)> {
    let (family, region, made_by) = call;
    let ids: Vec<String> = wanted.keys().cloned().collect();
    let found = match ids.as_slice() {
        [_] => return each_id(wanted, from).await,
        ids => {
            aws.describe_snapshots(family, region, Sought::Several { ids, made_by })
                .await
        }
    };
    let all = || wanted.values().flatten();
    match found {
        Ok(found) => all()
            .map(|(place, snapshot)| (*place, probe::seen(found.iter().find(|found| snapshot.is(&found.id)))))
            .collect(),
        Err(fault) if fault.may_pass() => all()
            .map(|(place, snapshot)| (*place, snapshot.unseen(&fault)))
            .collect(),
        Err(_) => each_id(wanted, from).await,
    }
}

/// One look for each id, whose answer goes to all who want it.
async fn each_id(wanted: Wanted<'_>, from: &Targets) -> Vec<(usize, Seen)> {
    let looks = wanted.into_values().filter_map(|same| {
        let (_, first) = *same.first()?;
        Some(async move {
            let seen = first.look(from).await;
            same.into_iter()
                .map(|(place, _)| (place, seen.clone()))
                .collect::<Vec<_>>()
        })
    });
    join_all(looks).await.into_iter().flatten().collect()
}

async fn alone(snapshots: Vec<(usize, &RdsSnapshot)>, from: &Targets) -> Vec<(usize, Seen)> {
    let looks = snapshots
        .into_iter()
        .map(|(place, snapshot)| async move { (place, snapshot.look(from).await) });
    join_all(looks).await
}
