//! Early look: an event says that something happened to a target; if it is waited for, it is looked at sooner.
//!
//! The timer that is on its way stays there: whichever of the two comes first claims the pass, the other is stale.

use crate::engine::Run;
use crate::ledger::{self, Stop};
use crate::record::{self, State};
use crate::target::Target;

/// Sends the next pass of the wait for `target` now, if there is one in this queue; answers its id.
///
/// It is delayed by a lease: when it arrives, whoever may be looking right now has ended.
///
/// # Errors
/// [`Stop`].
pub async fn wake(run: &Run, target: &Target) -> Result<Option<String>, Stop> {
    let Some((record, token, date)) = ledger::read(run, &record::key(target)).await? else {
        return Ok(None);
    };
    if record.state == State::Done || record.wait.home != run.engine().queue.home() {
        return Ok(None);
    }
    let now = date.unwrap_or_else(|| run.engine().clock.now());
    let delay = ledger::a_lease(run, &record);
    let count = record.pass.saturating_add(1);
    let id = record.wait.id.clone();
    let early = ledger::timer(record.wait, count, token, run.engine().random.id());
    ledger::send(run, early, delay, now).await?;
    Ok(Some(id))
}
