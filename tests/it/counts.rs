//! What became of many waits, counted from outside: announcements and why some came again, looks and runs that died.

use std::collections::{BTreeMap, BTreeSet};

use matsu_wait::record::{Record, State};

use crate::http::Method;
use crate::proxy::{Proxy, Seen};

/// The name of a target by its number, of whatever kind it is.
pub(crate) fn name(number: usize) -> String {
    format!("awaited-{number}.csv")
}

/// The number of the target that a text tells of.
pub(crate) fn number(text: &str) -> Option<usize> {
    text.split("awaited-").nth(1)?.split(".csv").next()?.parse().ok()
}

/// An announcement that the channel took.
#[derive(Debug)]
pub(crate) struct Post {
    pub(crate) number: usize,
    /// The path of the webhook, which tells who sent it.
    pub(crate) path: String,
    /// Whether the sender was answered; it may have died before.
    answered: bool,
}

/// What passed the proxy in front of the channel, in order.
pub(crate) fn posts(hook: &Proxy) -> Vec<Post> {
    let taken = hook.seen().into_iter().filter(Seen::arrived);
    taken
        .map(|seen| Post {
            number: number(&String::from_utf8_lossy(&seen.body)).expect("a post tells of a target"),
            answered: !seen.answer_was_lost(),
            path: seen.path,
        })
        .collect()
}

/// Posts that were answered and whose sender died before the record said so, by their places.
#[derive(Debug, Default)]
pub(crate) struct Deaths(BTreeSet<usize>);

impl Deaths {
    /// Whoever sent the posts that `is_of` picks is dead: those that no record knows of may come again.
    pub(crate) async fn note(
        &mut self,
        posts: &[Post],
        is_of: impl Fn(&Post) -> bool,
        is_recorded: impl AsyncFn(usize) -> bool,
    ) {
        for (place, post) in posts.iter().enumerate().filter(|(_, post)| is_of(post)) {
            if post.answered && !is_recorded(post.number).await {
                self.0.insert(place);
            }
        }
    }
}

/// How often the channel was told of how many waits.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) waits: usize,
    pub(crate) posts: usize,
    /// Posts whose answer was lost.
    pub(crate) unanswered: usize,
    /// Posts whose sender died before it was recorded.
    pub(crate) died: usize,
    /// The waits that were told of more often than that explains.
    pub(crate) unexplained: Vec<usize>,
}

impl Told {
    pub(crate) fn of(posts: &[Post], deaths: &Deaths) -> Self {
        let mut good: BTreeMap<usize, usize> = BTreeMap::new();
        for (place, post) in posts.iter().enumerate() {
            let stands = post.answered && !deaths.0.contains(&place);
            *good.entry(post.number).or_default() += usize::from(stands);
        }
        Self {
            waits: good.len(),
            posts: posts.len(),
            unanswered: posts.iter().filter(|post| !post.answered).count(),
            died: deaths.0.len(),
            unexplained: good
                .into_iter()
                .filter(|(_, n)| *n > 1)
                .map(|(number, _)| number)
                .collect(),
        }
    }
}

impl std::fmt::Display for Told {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} posts of {} outcomes, {} repeats: {} answers were lost, {} runs died between answer and record",
            self.posts,
            self.waits,
            self.posts - self.waits,
            self.unanswered,
            self.died
        )
    }
}

/// How often each target was looked at. A request that the client sends again belongs to the same look.
pub(crate) fn looks(in_front: &Proxy) -> BTreeMap<usize, usize> {
    let mut known = BTreeSet::new();
    let mut looks = BTreeMap::new();
    for seen in in_front.seen() {
        let is_look = [Method::HEAD, Method::GET].contains(&seen.method) && !seen.path.contains("/matsu/");
        let is_new = seen.invocation.is_none_or(|id| known.insert(id));
        if let Some(number) = number(&seen.path).filter(|_| is_look && is_new) {
            *looks.entry(number).or_default() += 1;
        }
    }
    looks
}

/// How many passes were taken over from runs that had died, as the store in S3 was told; a refused try counts, too.
pub(crate) fn takeovers(s3: &Proxy) -> usize {
    let writes = s3
        .seen()
        .into_iter()
        .filter(|seen| seen.method == Method::PUT && seen.arrived());
    let records = writes.filter_map(|seen| Record::from_body(&seen.path, &seen.body).ok());
    let takeovers = records.filter(|record| record.takeovers > 0 && record.state == State::Waiting);
    takeovers.map(|record| record.put).collect::<BTreeSet<_>>().len()
}
