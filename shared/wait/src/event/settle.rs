//! Several records of one payload about one thing: what is left to do, and in which order.

use std::collections::{HashMap, HashSet};

use super::wrapped::Found;
use super::{Item, Wanted};

/// Brings the changes of each S3 object into the order of their sequencers and keeps the latest start and the latest
/// removal; of other requests, the first of equals. What falls away stays as ignored, so that no message goes missing.
///
/// The latest start, because an earlier one may be known already, and its wait over: with it alone the later change
/// would start nothing.
pub(super) fn settle(mut found: Vec<Found>) -> Vec<Item> {
    let mut objects: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, one) in found.iter().enumerate() {
        if let (Some(_), Ok(Wanted::Start(_) | Wanted::Wake(_))) = (&one.change, &one.item.wanted) {
            objects.entry(subject(one)).or_default().push(index);
        }
    }
    for places in objects.values().filter(|places| places.len() > 1) {
        in_order(&mut found, places);
        keep_latest(&mut found, places);
    }
    let mut seen = HashSet::new();
    for one in &mut found {
        let is_new = match &one.item.wanted {
            Ok(wanted @ (Wanted::Copy { .. } | Wanted::Wake(_))) => seen.insert(format!("{wanted:?}")),
            _ => true,
        };
        if !is_new {
            drop_out(one);
        }
    }
    found.into_iter().map(|one| one.item).collect()
}

/// Sorts what stands at `places`, among themselves; as it came where any has no sequencer that can be compared.
fn in_order(found: &mut [Found], places: &[usize]) {
    let sequencer = |index: &usize| found[*index].change.clone().unwrap_or_default();
    let mut sorted: Vec<(String, usize)> = places.iter().map(|i| (sequencer(i), *i)).collect();
    if sorted.iter().any(|(sequencer, _)| sequencer.is_empty()) {
        return;
    }
    sorted.sort();
    let nothing = || Found {
        item: Item {
            message_id: None,
            wanted: Ok(Wanted::Ignored(String::new())),
        },
        change: None,
    };
    let taken: Vec<Found> = sorted
        .into_iter()
        .map(|(_, index)| std::mem::replace(&mut found[index], nothing()))
        .collect();
    for (place, one) in places.iter().zip(taken) {
        found[*place] = one;
    }
}

fn keep_latest(found: &mut [Found], places: &[usize]) {
    let (mut starts, mut wakes) = (0, 0);
    for index in places.iter().rev() {
        let one = &mut found[*index];
        let count = match &one.item.wanted {
            Ok(Wanted::Start(_)) => &mut starts,
            _ => &mut wakes,
        };
        *count += 1;
        if *count > 1 {
            drop_out(one);
        }
    }
}

fn drop_out(one: &mut Found) {
    let what = subject(one);
    one.item.wanted = Ok(Wanted::Ignored(format!(
        "{what}: another record of the same payload says as much, or more"
    )));
}

/// What a request is about.
fn subject(one: &Found) -> String {
    match &one.item.wanted {
        Ok(Wanted::Start(request)) => request.target.to_string(),
        Ok(Wanted::Wake(target)) => target.to_string(),
        Ok(Wanted::Copy { request, .. }) => request.source.clone(),
        Ok(Wanted::Ignored(_)) | Err(_) => String::new(),
    }
}
