//! What goes wrong on the way, of a thousand requests so many.

use std::time::Duration;

use crate::http::StatusCode;
use crate::proxy::Trouble;

/// In front of everything: a tenth of the answers is lost, each twentieth request meets a 503.
pub(crate) const WEATHER: [(u32, Trouble); 4] = [
    (85, Trouble::LoseAnswer),
    (15, Trouble::Hang),
    (25, Trouble::Refuse(StatusCode::SERVICE_UNAVAILABLE)),
    (25, Trouble::AnswerInstead(StatusCode::SERVICE_UNAVAILABLE)),
];

/// The same for conditional writes, of which some meet a conflict, too.
pub(crate) const WEATHER_OF_WRITES: [(u32, Trouble); 5] = [
    WEATHER[0],
    WEATHER[1],
    WEATHER[2],
    WEATHER[3],
    (30, Trouble::Refuse(StatusCode::CONFLICT)),
];

/// In front of the channel, which is often slow, so that runs die between its answer and the record of it.
pub(crate) const WEATHER_OF_POSTS: [(u32, Trouble); 5] = [
    (70, Trouble::LoseAnswer),
    (30, Trouble::Hang),
    (50, Trouble::Refuse(StatusCode::SERVICE_UNAVAILABLE)),
    (50, Trouble::Refuse(StatusCode::TOO_MANY_REQUESTS)),
    (600, Trouble::Late(Duration::from_millis(1_500))),
];
