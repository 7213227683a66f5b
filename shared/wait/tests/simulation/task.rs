//! What a run does: one verb of the real code, with the ports of the run.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use matsu_lock::SeededRandom;
use matsu_wait::cancel::cancel;
use matsu_wait::event::Rules;
use matsu_wait::extend::extend;
use matsu_wait::handle::{Handled, handle};
use matsu_wait::message::Body;
use matsu_wait::queue::Delivery;
use matsu_wait::start::{Started, start};
use matsu_wait::sweep::sweep;
use matsu_wait::testing::{Bench, SECOND};
use matsu_wait::wait::Policy;
use matsu_wait::wake::wake;
use matsu_wait::{Engine, Run};

use crate::book::{Entry, Role, World};
use crate::plan::Deed;
use crate::ports::Ports;

/// What a run came to.
pub(crate) enum Done {
    /// A request: how it was served; none: it comes again.
    Asked(usize, Option<Started>),
    /// A message was worked.
    Worked(Handled),
    /// Anything else.
    Whatever,
}

type Future = Pin<Box<dyn std::future::Future<Output = Done> + Send>>;

/// A run that is under way.
pub(crate) struct Task {
    pub(crate) run: usize,
    /// The number of the request that it serves.
    pub(crate) request: Option<usize>,
    /// It lives longer than its lease.
    pub(crate) frozen: bool,
    pub(crate) future: Future,
}

/// Begins what somebody outside does by a run.
pub(crate) fn begin(world: &Arc<World>, random: &Arc<SeededRandom>, deed: Deed) -> Task {
    let (role, lease) = match deed {
        Deed::Ask(_) => (Role::Starter, 30 * SECOND),
        Deed::Sweep => (Role::Sweeper, 300 * SECOND),
        _ => (Role::Command, 60 * SECOND),
    };
    let (number, run) = enter(world, random, role, lease);
    world.note(|| format!("run {number} begins: {deed:?}"));
    let target = |number: usize| world.plan.targets[number].0.clone();
    let request = match deed {
        Deed::Ask(request) => Some(request),
        _ => None,
    };
    let future: Future = match deed {
        Deed::Ask(request) => {
            let asked = world.plan.requests[request].clone();
            Box::pin(async move { Done::Asked(request, start(&run, &asked).await.ok()) })
        }
        Deed::Wake(number) => {
            let target = target(number);
            Box::pin(async move { whatever(wake(&run, &target).await) })
        }
        Deed::Cancel(number) => {
            let target = target(number);
            Box::pin(async move { whatever(cancel(&run, &target).await) })
        }
        Deed::Extend(number) => {
            let target = target(number);
            Box::pin(async move { whatever(extend(&run, &target, 600 * SECOND).await) })
        }
        Deed::Sweep | Deed::Purge | Deed::Duplicate | Deed::Raw(_) => {
            Box::pin(async move { whatever(sweep(&run, false).await) })
        }
    };
    Task {
        run: number,
        request,
        frozen: false,
        future,
    }
}

/// Begins to work a message; it is acknowledged unless it is given back.
pub(crate) fn deliver(world: &Arc<World>, random: &Arc<SeededRandom>, delivery: Delivery) -> Task {
    let (number, run) = enter(world, random, Role::Waiter, world.plan.lease);
    world.note(|| {
        format!(
            "run {number} begins: message {}, delivery {}",
            delivery.id, delivery.receives
        )
    });
    let rules = Rules {
        policy: Policy {
            max_count: 6,
            timeout: 1_200 * SECOND,
            ..Policy::default()
        },
        ..Bench::new().rules(&delivery.id)
    };
    let origin = match Body::parse(&delivery.body) {
        Ok(Body::Raw(request)) => request["origin"].as_str().map(str::to_owned),
        _ => None,
    };
    let its_world = world.clone();
    let future = async move {
        let handled = handle(&run, &rules, &delivery.body).await;
        // It is served even if the run dies over its acknowledgement.
        if let Handled::Started(Started::Created { .. } | Started::Already { wait: Some(_), .. }) = handled {
            its_world.book().served.extend(origin);
        }
        if !matches!(handled, Handled::GiveBack(_)) {
            drop(run.engine().queue.acknowledge(&[delivery]).await);
        }
        Done::Worked(handled)
    };
    Task {
        run: number,
        request: None,
        frozen: world.goes_wrong(world.plan.rates.frozen),
        future: Box::pin(future),
    }
}

fn whatever<T>(_: T) -> Done {
    Done::Whatever
}

/// A new run, written down, with ports of its own.
fn enter(world: &Arc<World>, random: &Arc<SeededRandom>, role: Role, lease: Duration) -> (usize, Run) {
    let now = world.now();
    let mut book = world.book();
    let number = book.runs.len();
    book.runs.push(Entry {
        role,
        lease,
        ends: now + lease,
        over: false,
        outlived: false,
        rests_until: now,
        told: Vec::new(),
        gets: 0,
        puts: 0,
        troubled: false,
    });
    drop(book);
    let ports = Arc::new(Ports {
        world: world.clone(),
        run: number,
        skew: world.plan.skew(&world.dice, now),
    });
    let engine = Engine {
        store: ports.clone(),
        queue: ports.clone(),
        look: ports.clone(),
        jobs: ports.clone(),
        notify: ports.clone(),
        clock: ports,
        random: random.clone(),
    };
    (number, Run::new(engine, lease))
}
