//! Early look: an event says that something happened to a target; if it is waited for, it is looked at sooner.
//!
//! The timer that is on its way stays there: whichever of the two comes first claims the pass, the other is stale.

use std::time::Duration;

use crate::delay;
use crate::engine::Run;
use crate::ledger::{self, Standing, Stop};
use crate::record::{self, State};
use crate::target::Target;

/// The store tells its times in whole seconds: so much less has passed between two of them at the least.
const ROUNDING: Duration = Duration::from_secs(1);

/// Sends the next pass of the wait for `target` now, if there is one in this queue; answers its id.
///
/// It is delayed by a lease, less what the store's clock proves to have passed since the record was written: when it
/// arrives, whoever may be looking right now has ended.
///
/// # Errors
/// [`Stop`].
pub async fn wake(run: &Run, target: &Target) -> Result<Option<String>, Stop> {
    let Some(stands) = ledger::read(run, &record::key(target)).await? else {
        return Ok(None);
    };
    let record = &stands.record;
    if record.state == State::Done || record.wait.home != run.engine().queue.home() {
        return Ok(None);
    }
    let (now, delay) = (stands.now(run), rest_of_a_lease(run, &stands));
    let count = record.pass.saturating_add(1);
    let id = record.wait.id.clone();
    let early = ledger::timer(stands.record.wait, count, stands.token, run.engine().random.id());
    ledger::send(run, early, delay, now).await?;
    Ok(Some(id))
}

/// What is left until whoever may be looking right now has surely ended.
fn rest_of_a_lease(run: &Run, stands: &Standing) -> Duration {
    let passed = match (stands.date, stands.written) {
        (Some(date), Some(written)) => delay::until(date, written).saturating_sub(ROUNDING),
        _ => Duration::ZERO,
    };
    ledger::a_lease(run, &stands.record).saturating_sub(passed)
}
