//! The records as they land in the store, watched.

use futures::FutureExt;
use matsu_lock::{Store, StoreError, Token, Write};
use matsu_wait::record::PREFIX;
use matsu_wait::{Record, State, queue, work};

use crate::book::{Flying, World, Written};

impl World {
    /// The write takes effect, if its condition holds.
    pub(crate) fn write(
        &self,
        run: usize,
        key: &str,
        replacing: Option<&Token>,
        body: Vec<u8>,
    ) -> Result<Write, StoreError> {
        let record = key
            .starts_with(PREFIX)
            .then(|| Record::from_body(key, &body).expect("a record"));
        let write = match replacing {
            Some(token) => self.store.replace(key, token, body).now_or_never(),
            None => self.store.create(key, body).now_or_never(),
        };
        let write = write.expect("a store in memory answers at once");
        match (&write, record) {
            (Ok(Write::Written { token, .. }), Some(record)) => self.landed(run, key, token, record),
            (Ok(Write::Refused), _) => self.book().runs[run].troubled = true,
            _ => {}
        }
        write
    }

    fn landed(&self, run: usize, key: &str, token: &Token, record: Record) {
        self.note(|| {
            format!(
                "run {run} writes {} pass {} {:?} {:?} as {token}, wait {}",
                &record.put[..6],
                record.pass,
                record.outcome.as_ref().map(|outcome| outcome.kind),
                record.notified,
                &record.wait.id[..6],
            )
        });
        let longest = match record.state {
            State::Waiting => record.wait.policy.longest_delay(),
            State::Done => record.wait.policy.longest_delay().max(queue::LONGEST_DELAY),
        };
        let written = Written {
            at: self.now(),
            threshold: record.lease.duration() + longest + self.plan.visibility.max(work::VISIBILITY),
            swept: 0,
        };
        let mut book = self.book();
        let before = book.standing.remove(key);
        book.lands(before.as_ref(), &record, run);
        book.standing.insert(key.to_owned(), record);
        book.written.insert(token.as_str().to_owned(), written);
    }

    /// What was still on its way and is due takes effect.
    pub(crate) fn land_what_is_due(&self) {
        let now = self.now();
        let due: Vec<Flying> = self.book().flying.extract_if(.., |flying| flying.at <= now).collect();
        for flying in due {
            self.note(|| format!("a write of run {} lands late", flying.run));
            let landed = self.write(flying.run, &flying.key, flying.replacing.as_ref(), flying.body);
            landed.expect("a store in memory answers");
        }
    }
}
