//! The doorway: every call between application and platform, in either direction, passes here.
//!
//! A call takes this path:
//!
//! 1. [`request`](self::request): `prepare` numbers the call and files its operation in the trace; `submit`
//!    holds it back if an object's turn is still open; `depart` records it, asks the storm for a verdict in
//!    `judge`, and schedules its arrival.
//! 2. [`arrive`](self::arrive): `World::arrive` hands it to the handler of a worker or an object, or
//!    [`effect`](self::effect) applies it to a service; [`frame`](self::frame) has the way of WebSockets.
//! 3. [`reply`](self::reply): `handled` (from a handler) or `took_effect` (from a service) sends the answer
//!    back through `respond`; `reply` or, when nothing comes back, `give_up` ends in `answer`, which closes
//!    the call and wakes the task that awaits it.
//!
//! A call to R2, for example, is judged in `State::judge` when it departs, applied in `State::effect` when
//! it arrives, and answered by `State::answer` when the reply has travelled back. What the verdict says of the
//! request is carried out in `State::depart`, and what it says of the reply in `State::respond`.

use std::time::Duration;

pub(crate) mod arrive;
pub(crate) mod effect;
pub(crate) mod frame;
pub(crate) mod reply;
pub(crate) mod request;

/// How long a caller waits for a reply that does not come.
const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// How soon the platform notices that a worker died in the middle of a call.
const NOTICE: Duration = Duration::from_millis(1);
