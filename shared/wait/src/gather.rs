//! Gathering: members of one batch are worked side by side, and what several of them ask of a port is asked together:
//! one look at many targets, one send of many messages, one acknowledgement.
//!
//! A question waits until every member that could still ask has asked, or for a fifth of a second: a member that is busy with
//! something else delays its neighbours by no more than that. Each gets its own answer; a fault of one target or message
//! stays its own.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::{Either, join_all};
use futures::stream::{FuturesUnordered, StreamExt};
use jiff::Timestamp;
use tokio::sync::{Notify, oneshot};

use crate::engine::Engine;
use crate::queue::{Delivery, Outgoing, Queue, QueueError};
use crate::target::{Look, Seen, Target};

/// The longest that a question waits for others.
const PATIENCE: Duration = Duration::from_millis(200);

/// Works every item by `member`, all side by side, each with an engine whose looks and messages are gathered; the answers
/// stand in the order of the items.
pub async fn together<I, F, T>(engine: &Engine, items: Vec<I>, member: impl Fn(Engine, I) -> F) -> Vec<T>
where
    F: Future<Output = T>,
{
    let desk = Arc::new(Desk::of(items.len()));
    let gathered = Engine {
        look: Arc::new(Gathered(desk.clone(), engine.look.clone())),
        queue: Arc::new(Gathered(desk.clone(), engine.queue.clone())),
        ..engine.clone()
    };
    let members = join_all(items.into_iter().map(|item| {
        let place = Place(desk.clone());
        let work = member(gathered.clone(), item);
        async move {
            let _place = place;
            work.await
        }
    }));
    tokio::select! {
        biased;
        () = desk.serve(engine) => unreachable!("it serves for ever"),
        answers = members => answers,
    }
}

/// Questions and whom to answer.
type Pile<Q, A> = Vec<(Q, oneshot::Sender<A>)>;

/// Where the members of a batch lay down what they ask.
#[derive(Debug)]
struct Desk {
    asked: Mutex<Asked>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Asked {
    /// Members that have not ended.
    members: usize,
    /// Those of them that are being answered.
    in_hand: usize,
    looks: Pile<Target, Seen>,
    sends: Pile<Outgoing, Result<(), QueueError>>,
    acknowledgements: Pile<Delivery, Result<(), QueueError>>,
}

impl Asked {
    /// How many wait for an answer; whoever gave up waiting does not count.
    fn waiting(&mut self) -> usize {
        self.looks.retain(|(_, to)| !to.is_closed());
        self.sends.retain(|(_, to)| !to.is_closed());
        self.acknowledgements.retain(|(_, to)| !to.is_closed());
        self.looks.len() + self.sends.len() + self.acknowledgements.len()
    }

    fn take(&mut self) -> Self {
        let (members, in_hand) = (self.members, self.in_hand + self.waiting());
        std::mem::replace(
            self,
            Self {
                members,
                in_hand,
                ..Self::default()
            },
        )
    }
}

impl Desk {
    fn of(members: usize) -> Self {
        let asked = Asked {
            members,
            ..Asked::default()
        };
        Self {
            asked: Mutex::new(asked),
            changed: Notify::new(),
        }
    }

    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lays down a question; none: nobody answers any more.
    async fn ask<Q, A>(&self, pile: impl FnOnce(&mut Asked) -> &mut Pile<Q, A>, question: Q) -> Option<A> {
        let (to, answer) = oneshot::channel();
        pile(&mut self.asked()).push((question, to));
        self.changed.notify_one();
        answer.await.ok()
    }

    /// While this is held, its member asks nothing else.
    fn busy(&self) -> Busy<'_> {
        self.asked().in_hand += 1;
        self.changed.notify_one();
        Busy(self, 1)
    }

    /// Answers for ever, several calls side by side.
    async fn serve(&self, engine: &Engine) {
        let mut calls = FuturesUnordered::new();
        loop {
            tokio::select! {
                biased;
                Some(called) = calls.next() => ended(&called),
                asked = self.due() => {
                    for looks in groups(&*engine.look, asked.looks) {
                        let call = Either::Left(self.look(&*engine.look, looks));
                        calls.push(AssertUnwindSafe(call).catch_unwind());
                    }
                    let rest = self.pass_on(&*engine.queue, asked.sends, asked.acknowledgements);
                    calls.push(AssertUnwindSafe(Either::Right(rest)).catch_unwind());
                }
            }
        }
    }

    /// What is asked, once everybody has asked or patience has ended.
    async fn due(&self) -> Asked {
        loop {
            self.until(|asked| asked.waiting() > 0).await;
            let all = self.until(|asked| {
                let waiting = asked.waiting();
                waiting == 0 || waiting + asked.in_hand >= asked.members
            });
            // What has not asked by then asks later.
            let _ = tokio::time::timeout(PATIENCE, all).await;
            let mut asked = self.asked();
            if asked.waiting() > 0 {
                return asked.take();
            }
        }
    }

    async fn until(&self, it_is: impl Fn(&mut Asked) -> bool) {
        loop {
            let changed = self.changed.notified();
            if it_is(&mut self.asked()) {
                return;
            }
            changed.await;
        }
    }

    async fn look(&self, look: &dyn Look, asked: Pile<Target, Seen>) {
        let _busy = Busy(self, asked.len());
        let (targets, to): (Vec<_>, Vec<_>) = asked.into_iter().unzip();
        answer(to, look.look_all(&targets).await);
    }

    /// Messages and acknowledgements, side by side.
    async fn pass_on(
        &self,
        queue: &dyn Queue,
        sends: Pile<Outgoing, Result<(), QueueError>>,
        acknowledgements: Pile<Delivery, Result<(), QueueError>>,
    ) {
        let send = async {
            let _busy = Busy(self, sends.len());
            let (messages, to): (Vec<_>, Vec<_>) = sends.into_iter().unzip();
            if !messages.is_empty() {
                answer(to, queue.send(messages).await);
            }
        };
        let acknowledge = async {
            let _busy = Busy(self, acknowledgements.len());
            let (deliveries, to): (Vec<_>, Vec<_>) = acknowledgements.into_iter().unzip();
            if !deliveries.is_empty() {
                let removed = queue.acknowledge(&deliveries).await;
                answer(to, deliveries.iter().map(|_| removed.clone()).collect());
            }
        };
        tokio::join!(send, acknowledge);
    }
}

/// Whoever asked in a call that broke gets no answer.
fn ended(called: &std::thread::Result<()>) {
    if called.is_err() {
        tracing::error!("the program broke in a request for several messages");
    }
}

/// Whoever gave up waiting hears nothing.
fn answer<A>(to: Vec<oneshot::Sender<A>>, answers: Vec<A>) {
    for (to, answer) in to.into_iter().zip(answers) {
        let _ = to.send(answer);
    }
}

/// The looks that one request can make, together.
fn groups(look: &dyn Look, asked: Pile<Target, Seen>) -> Vec<Pile<Target, Seen>> {
    let mut groups: Vec<(Option<String>, Pile<Target, Seen>)> = Vec::new();
    for (target, to) in asked {
        let shared = look.together(&target);
        match groups.iter_mut().find(|(of, _)| *of == shared) {
            Some((_, group)) => group.push((target, to)),
            None => groups.push((shared, vec![(target, to)])),
        }
    }
    groups.into_iter().map(|(_, group)| group).collect()
}

/// So many members are being answered.
struct Busy<'a>(&'a Desk, usize);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.asked().in_hand -= self.1;
        self.0.changed.notify_one();
    }
}

/// A member that has not ended.
struct Place(Arc<Desk>);

impl Drop for Place {
    fn drop(&mut self) {
        self.0.asked().members -= 1;
        self.0.changed.notify_one();
    }
}

/// A port of which questions are gathered.
#[derive(Debug)]
struct Gathered<P: ?Sized>(Arc<Desk>, Arc<P>);

#[async_trait]
impl Look for Gathered<dyn Look> {
    async fn look(&self, target: &Target) -> Seen {
        let Self(desk, port) = self;
        if port.together(target).is_none() {
            let _busy = desk.busy();
            return port.look(target).await;
        }
        let seen = desk.ask(|asked| &mut asked.looks, target.clone()).await;
        seen.unwrap_or_else(|| Seen::Unknown("no answer".to_owned()))
    }
}

#[async_trait]
impl Queue for Gathered<dyn Queue> {
    fn home(&self) -> &str {
        self.1.home()
    }

    async fn send(&self, messages: Vec<Outgoing>) -> Vec<Result<(), QueueError>> {
        let asks = messages.into_iter().map(|message| async {
            let sent = self.0.ask(|asked| &mut asked.sends, message).await;
            sent.unwrap_or_else(unanswered)
        });
        join_all(asks).await
    }

    async fn receive(&self, most: usize, visibility: Duration) -> Result<Vec<Delivery>, QueueError> {
        self.1.receive(most, visibility).await
    }

    async fn acknowledge(&self, deliveries: &[Delivery]) -> Result<(), QueueError> {
        let asks = deliveries.iter().map(|delivery| async {
            let removed = self.0.ask(|asked| &mut asked.acknowledgements, delivery.clone()).await;
            removed.unwrap_or_else(unanswered)
        });
        join_all(asks).await.into_iter().collect()
    }

    async fn bury(&self, body: &str, reason: &str) -> Result<bool, QueueError> {
        let _busy = self.0.busy();
        self.1.bury(body, reason).await
    }

    async fn visibility(&self) -> Result<Duration, QueueError> {
        self.1.visibility().await
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, QueueError> {
        self.1.next_due().await
    }
}

fn unanswered() -> Result<(), QueueError> {
    Err(QueueError::Unavailable("no answer".to_owned()))
}

#[cfg(test)]
#[path = "gather_tests.rs"]
mod tests;
