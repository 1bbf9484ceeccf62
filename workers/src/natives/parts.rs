//! The parts of the prelude that are loaded when they are asked for.

use std::rc::Rc;

use rquickjs::{Ctx, Function, Object, Result};

use crate::host::Host;

pub fn install<'js>(ctx: &Ctx<'js>, host: &Rc<Host>, natives: &Object<'js>) -> Result<()> {
    natives.set("named", host.code().named())?;
    let this = host.clone();
    let part = move |ctx: Ctx<'js>, name: String| this.code().part(&ctx, &name);
    natives.set("part", Function::new(ctx.clone(), part)?)
}
