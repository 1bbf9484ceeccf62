//! The functions on which the prelude is built. They are made while an isolate boots, before the image of its heap is
//! taken, and the prelude holds them for ever.

mod aes;
mod codes;
mod convert;
mod digest;
mod invocation;
mod packing;
mod parts;
mod signature;
mod socket;
mod storage;
mod web;

use std::rc::Rc;

use rquickjs::{Ctx, Object, Result};

use crate::frame;
use crate::host::Host;

/// The name under which the prelude finds them.
const NAME: &str = "__thunderhead";

/// Makes them a global, for the prelude.
pub fn install(ctx: &Ctx<'_>, host: &Rc<Host>) -> Result<()> {
    let natives = Object::new(ctx.clone())?;
    web::install(ctx, host, &natives)?;
    codes::install(ctx, &natives)?;
    invocation::install(ctx, host, &natives)?;
    parts::install(ctx, host, &natives)?;
    storage::install(ctx, host, &natives)?;
    socket::install(ctx, host, &natives)?;
    frame::install(ctx, &natives)?;
    ctx.globals().set(NAME, natives)
}

/// Takes the global away, before any code of the program runs.
pub fn hide(ctx: &Ctx<'_>) -> Result<()> {
    ctx.globals().remove(NAME)
}
