//! Following a wait: reading its record until it has ended, and showing what goes on.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use matsu_lock::StoreError;
use matsu_wait::decide::{self, Next};
use matsu_wait::engine::{Engine, Run};
use matsu_wait::record::{self, Record};
use matsu_wait::target::{Seen, Target};
use matsu_wait::wait::Policy;
use matsu_wait::work::LEASE;
use matsu_wait::{delay, wake};
use tokio::sync::Notify;

use super::sight::{Followed, Sight};
use crate::failure::Failure;
use crate::progress::{View, short};
use crate::report::Ending;
use crate::screen::Line;

/// How often the screen changes, and how often a record in a local file is read.
const TICK: Duration = Duration::from_millis(200);

/// A store may be without an answer for this long.
const SILENCE: Duration = Duration::from_secs(300);

/// After so many denied reads in a row the record cannot be followed.
const DENIED_READS: u32 = 3;

/// Follows one wait.
#[derive(Debug)]
pub(crate) struct Follower<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) target: &'a Target,
    pub(crate) followed: Followed,
    /// What looks of this process saw.
    pub(crate) noted: Arc<Noted>,
    /// Whether reading the record costs next to nothing.
    pub(crate) local_store: bool,
    /// Whether this process works the queue.
    pub(crate) works: bool,
    /// Where it is shown.
    pub(crate) line: Line,
}

/// What the last look of this process at the target saw.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    last: Mutex<Option<(Seen, Duration)>>,
    /// Rings when there is something new to be read.
    pub(crate) news: Notify,
}

impl Noted {
    /// Notes what was seen.
    pub(crate) fn note(&self, seen: Seen, at: Duration) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((seen, at));
        self.news.notify_one();
    }

    fn last(&self) -> Option<(Seen, Duration)> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The record as it was read last.
#[derive(Debug, Clone)]
struct Known {
    record: Record,
    /// When its pass was first seen.
    since: Duration,
}

/// Reads without an answer.
#[derive(Debug, Default)]
struct Faults {
    since: Option<Duration>,
    denied: u32,
}

/// What was done about a wait without passes.
#[derive(Debug, Default)]
struct Stall {
    said: bool,
    woken: Option<Duration>,
}

impl Follower<'_> {
    /// Until the wait has ended.
    ///
    /// # Errors
    /// Its record cannot be read, or tells nothing of it any more.
    pub(crate) async fn run(&mut self) -> Result<Ending, Failure> {
        let clock = self.engine.clock.clone();
        let (mut known, mut faults, mut stall) = (None::<Known>, Faults::default(), Stall::default());
        let mut read_at = None;
        let mut news = true;
        loop {
            let pace = self.pace(known.as_ref());
            if news || read_at.is_none_or(|at| clock.elapsed().saturating_sub(at) >= pace) {
                read_at = Some(clock.elapsed());
                if let Some(record) = self.read(&mut faults).await? {
                    match self.followed.sight(record.as_ref()) {
                        Sight::Ended(ending) => return Ok(*ending),
                        Sight::Lost => return Err(Failure::Service(format!("the record of {} is gone", self.target))),
                        Sight::NotYet => {}
                        Sight::Running(record) => known = Some(Known::new(record, known.take(), clock.elapsed())),
                    }
                }
            }
            if let Some(known) = &known {
                // A look after the record was read belongs to a pass that is not known yet; the record is read at once.
                let noted = self.noted.last();
                let known_pass = noted
                    .as_ref()
                    .is_none_or(|(_, at)| read_at.is_some_and(|read| *at <= read));
                if known_pass && let Some(view) = view(known, noted, clock.elapsed(), clock.now()) {
                    self.line.show(&view, clock.elapsed());
                }
                self.look_after(known, &mut stall).await;
            }
            news = tokio::select! {
                () = self.noted.news.notified() => true,
                () = clock.sleep(TICK) => false,
            };
        }
    }

    /// How often the record is read.
    fn pace(&self, known: Option<&Known>) -> Duration {
        if self.local_store {
            return TICK;
        }
        let policy = known.map(|known| &known.record.wait.policy);
        policy.map_or(Duration::from_secs(1), |policy| {
            (policy.min_delay / 4).clamp(Duration::from_secs(1), Duration::from_secs(15))
        })
    }

    /// Reads the record; none: no answer this time.
    async fn read(&self, faults: &mut Faults) -> Result<Option<Option<Record>>, Failure> {
        let key = record::key(self.target);
        match self.engine.store.get(&key).await {
            Ok(stored) => {
                *faults = Faults::default();
                let record = stored.map(|stored| Record::from_body(&key, &stored.body)).transpose();
                record.map(Some).map_err(|bad| Failure::Service(bad.to_string()))
            }
            Err(fault) => faults.bear(fault, self.engine.clock.elapsed()).map(|()| None),
        }
    }

    /// A wait without passes for too long: somebody should know, and where this process works the queue it helps itself.
    async fn look_after(&self, known: &Known, stall: &mut Stall) {
        let policy = &known.record.wait.policy;
        let pass = known.record.pass;
        let now = self.engine.clock.elapsed();
        let silent = now.saturating_sub(stall.woken.map_or(known.since, |woken| woken.max(known.since)));
        let home = &known.record.wait.home;
        let ours = self.works && home == self.engine.queue.home();
        if silent < patience(policy, pass, ours) {
            return;
        }
        if !ours && stall.said {
            return;
        }
        if ours {
            stall.woken = Some(now);
            tracing::warn!(target = %self.target, "no pass for {}: its timer seems to be lost, another one is sent", short(silent));
        } else {
            stall.said = true;
            self.line.note(&format!(
                "{}: no pass for {} where one was expected every {}: is the queue {home} worked? matsu doctor tells what \
                 is wrong, matsu worker works it from here",
                self.target,
                short(silent),
                short(delay::between(policy, pass)),
            ));
        }
        // It may be no more than a lost timer. Whoever may only read cannot send another one.
        let run = Run::new(self.engine.clone(), LEASE);
        if let Err(why) = wake::wake(&run, self.target).await {
            tracing::debug!(%why, "no other timer was sent");
        }
    }
}

impl Known {
    /// The record as it is now, known since its pass was first seen.
    fn new(record: &Record, before: Option<Self>, now: Duration) -> Self {
        let since = before
            .filter(|known| known.record.pass == record.pass)
            .map_or(now, |known| known.since);
        Self {
            record: record.clone(),
            since,
        }
    }
}

impl Faults {
    fn bear(&mut self, fault: StoreError, now: Duration) -> Result<(), Failure> {
        let since = *self.since.get_or_insert(now);
        self.denied = if matches!(fault, StoreError::Denied { .. }) {
            self.denied + 1
        } else {
            0
        };
        let failure = Failure::from(fault);
        let hopeless = matches!(failure, Failure::Configuration(_)) || failure.is_about_credentials();
        if hopeless || self.denied >= DENIED_READS || now.saturating_sub(since) >= SILENCE {
            return Err(failure);
        }
        tracing::warn!(%failure, "the record was not read, it is tried again");
        Ok(())
    }
}

/// How long a wait may be without a pass: three looks. A worker allows for what a run that died holds back, too.
fn patience(policy: &Policy, pass: u32, ours: bool) -> Duration {
    let looks = delay::between(policy, pass) * 3;
    if ours {
        looks + 3 * LEASE
    } else {
        looks.max(Duration::from_secs(10))
    }
}

/// The wait as people see it; none: what was seen ends it, and the record is about to say so. What this process saw
/// itself is newer than what the record tells.
fn view(known: &Known, noted: Option<(Seen, Duration)>, elapsed: Duration, now: Timestamp) -> Option<View> {
    let Known { record, since } = known;
    let (wait, pass) = (&record.wait, record.pass);
    let (status, looked, looking) = match noted {
        Some((seen, at)) => {
            let (wait, next) = decide::decide(wait.clone(), &seen, pass, now);
            if matches!(next, Next::Finish(_)) {
                return None;
            }
            // A claim is seen at once after its look, or a whole delay after the look before.
            let at_once = (delay::between(&wait.policy, pass.saturating_sub(1)) / 2).min(Duration::from_secs(1));
            (wait.status, at, since.saturating_sub(at) > at_once)
        }
        None => (wait.status.clone(), *since, pass == 0),
    };
    let passed = elapsed.saturating_sub(looked);
    let left = delay::until(wait.deadline(), now);
    Some(View {
        target: wait.target.to_string(),
        status,
        pass,
        next: (!looking).then(|| delay::between(&wait.policy, pass).saturating_sub(passed).min(left)),
        elapsed: delay::until(now, wait.started_at),
        left,
    })
}

#[cfg(test)]
mod tests {
    use matsu_wait::queue::Queue;
    use matsu_wait::testing::{Bench, SECOND, here, request, target};
    use matsu_wait::wait::{OutcomeKind, Status};

    use super::*;
    use crate::report::tests::record;
    use crate::screen::Screen;

    const TARGET: &str = "s3://my-bucket/k";

    fn known() -> Known {
        Known {
            record: record(TARGET),
            since: Duration::from_secs(100),
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(matsu_wait::testing::BEGINNING + seconds).unwrap()
    }

    #[test]
    fn what_this_process_saw_itself_is_shown_before_the_record_tells_it() {
        let noted = Some((
            Seen::Pending(Status::new("copying").at(Some(7))),
            Duration::from_secs(101),
        ));
        let view = view(&known(), noted, Duration::from_secs(111), at(50)).unwrap();
        assert_eq!(view.status, Some(Status::new("copying").at(Some(7))));
        assert_eq!(
            view.next,
            Some(Duration::from_secs(50)),
            "pass 3 is followed after a minute, ten seconds are over"
        );
        assert_eq!(view.left, Duration::from_secs(86_350));
    }

    #[test]
    fn between_a_claim_and_what_it_sees_the_wait_is_being_looked_at() {
        let noted = Some((Seen::Missing, Duration::from_secs(40)));
        assert_eq!(
            view(&known(), noted, Duration::from_secs(100), at(50)).unwrap().next,
            None
        );
    }

    #[test]
    fn what_ends_the_wait_is_not_shown_as_progress() {
        let noted = Some((Seen::Satisfied(Status::new("exists")), Duration::from_secs(100)));
        assert_eq!(view(&known(), noted, Duration::from_secs(100), at(50)), None);
    }

    #[test]
    fn the_next_look_is_not_later_than_the_deadline() {
        let view = view(&known(), None, Duration::from_secs(100), at(86_395)).unwrap();
        assert_eq!(view.next, Some(Duration::from_secs(5)));
    }

    #[test]
    fn patience_is_three_looks_and_longer_for_a_queue_that_this_process_works() {
        let policy = Policy {
            min_delay: 30 * SECOND,
            max_delay: 30 * SECOND,
            ..Policy::default()
        };
        assert_eq!(patience(&policy, 5, false), 90 * SECOND);
        assert_eq!(patience(&policy, 5, true), 270 * SECOND);
        let quick = Policy {
            min_delay: SECOND,
            max_delay: SECOND,
            ..Policy::default()
        };
        assert_eq!(patience(&quick, 5, false), 10 * SECOND);
    }

    fn follower<'a>(engine: &'a Engine, target: &'a Target, id: &str) -> Follower<'a> {
        Follower {
            engine,
            target,
            followed: Followed::Wait(id.to_owned()),
            noted: Arc::default(),
            local_store: false,
            works: false,
            line: Screen::Log.line(0),
        }
    }

    async fn started(bench: &Bench) -> String {
        bench.start(&request(TARGET, "origin")).await;
        bench.record(&target(TARGET)).await.unwrap().0.wait.id
    }

    #[tokio::test]
    async fn a_wait_that_another_process_works_is_followed_to_its_end() {
        let bench = Bench::new();
        let id = started(&bench).await;
        bench.look.will_see([
            Seen::Pending(Status::new("absent")),
            Seen::Satisfied(Status::new("exists")),
        ]);
        let (engine, target) = (bench.engine(), target(TARGET));
        let mut follower = follower(&engine, &target, &id);
        let work = async {
            bench.turn().await;
            tokio::task::yield_now().await;
            bench.clock.advance(15 * SECOND);
            bench.turn().await;
            std::future::pending::<()>().await;
        };
        let ending = tokio::select! {
            ending = follower.run() => ending.unwrap(),
            () = work => unreachable!(),
        };
        assert_eq!((ending.kind, ending.document.count), (OutcomeKind::Completed, Some(2)));
        assert_eq!(here().region.as_deref(), Some("eu-central-1"));
    }

    #[tokio::test]
    async fn a_wait_that_lost_its_timer_gets_another_one_whoever_works_the_queue() {
        for works in [true, false] {
            let bench = Bench::new();
            let id = started(&bench).await;
            let lost = bench.queue.receive(10, 3_600 * SECOND).await.unwrap();
            bench.queue.acknowledge(&lost).await.unwrap();
            assert!(bench.queue.waiting().is_empty());
            bench.look.will_see([Seen::Satisfied(Status::new("exists"))]);
            let (engine, target) = (bench.engine(), target(TARGET));
            let mut follower = Follower {
                works,
                ..follower(&engine, &target, &id)
            };
            let work = async {
                loop {
                    bench.turn().await;
                    tokio::task::yield_now().await;
                }
            };
            let ending = tokio::select! {
                ending = follower.run() => ending.unwrap(),
                () = work => unreachable!(),
            };
            assert_eq!(ending.kind, OutcomeKind::Completed);
        }
    }

    #[tokio::test]
    async fn a_record_that_is_gone_is_a_service_error() {
        let bench = Bench::new();
        let (engine, target) = (bench.engine(), target(TARGET));
        let failure = follower(&engine, &target, "wait-1").run().await.unwrap_err();
        assert_eq!(failure.code(), 254);
    }

    #[test]
    fn a_store_may_be_silent_for_a_while_but_expired_credentials_end_the_following() {
        let mut faults = Faults::default();
        let silent = || StoreError::Unavailable("503".to_owned());
        assert_eq!(faults.bear(silent(), Duration::ZERO), Ok(()));
        assert_eq!(faults.bear(silent(), SILENCE - SECOND), Ok(()));
        assert_eq!(faults.bear(silent(), SILENCE).unwrap_err().code(), 254);
        let expired = StoreError::Unavailable("ExpiredToken: it has".to_owned());
        assert!(Faults::default().bear(expired, Duration::ZERO).is_err());
        let denied = || StoreError::Denied {
            action: "s3:GetObject",
            message: "no".to_owned(),
        };
        let mut faults = Faults::default();
        assert_eq!(faults.bear(denied(), Duration::ZERO), Ok(()));
        assert_eq!(faults.bear(denied(), Duration::ZERO), Ok(()));
        assert!(faults.bear(denied(), Duration::ZERO).is_err());
    }
}
