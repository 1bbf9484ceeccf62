//! WebSockets and bodies that are streamed: their ends are known by number, and all that outlives an isolate is with
//! the simulator.

use std::rc::Rc;
use std::sync::Arc;

use rquickjs::{Ctx, Exception, Function, Object, Result, Value};
use thunderhead_sim::{Body, ConnectionEnd, Frame, ObjectState};

use super::convert::{bytes, global_scope, text};
use crate::host::Host;

pub fn install<'js>(ctx: &Ctx<'js>, host: &Rc<Host>, natives: &Object<'js>) -> Result<()> {
    ends(ctx, host, natives)?;
    frames(ctx, host, natives)?;
    attachments(ctx, host, natives)?;
    objects(ctx, host, natives)
}

fn end(ctx: &Ctx<'_>, host: &Host, number: u32) -> Result<ConnectionEnd> {
    let env = host.env().ok_or_else(|| global_scope(ctx))?;
    let end = env.connection_end(number);
    end.ok_or_else(|| Exception::throw_type(ctx, "there is no such WebSocket"))
}

fn object(ctx: &Ctx<'_>, host: &Host, number: u32) -> Result<ObjectState> {
    host.objects.get(number).ok_or_else(|| Exception::throw_type(ctx, "there is no such object"))
}

/// What is done with an end as a whole.
type Act = fn(&ConnectionEnd);

fn ends<'js>(ctx: &Ctx<'js>, host: &Rc<Host>, natives: &Object<'js>) -> Result<()> {
    let this = host.clone();
    let pair = move |ctx: Ctx<'js>| -> Result<Vec<u32>> {
        let env = this.env().ok_or_else(|| global_scope(&ctx))?;
        Ok(env.web_socket_pair().iter().map(ConnectionEnd::number).collect())
    };
    natives.set("socketPair", Function::new(ctx.clone(), pair)?)?;
    let this = host.clone();
    let pair = move |ctx: Ctx<'js>| -> Result<Vec<u32>> {
        let pump = this.running.borrow().clone().ok_or_else(|| global_scope(&ctx))?;
        let [writer, reader] = pump.env.body_pair().map(|end| end.number());
        pump.holds(writer);
        Ok(vec![writer, reader])
    };
    natives.set("bodyPair", Function::new(ctx.clone(), pair)?)?;
    let this = host.clone();
    let claim = move |ctx: Ctx<'js>, number: u32| -> Result<()> {
        end(&ctx, &this, number)?.claim();
        this.running.borrow().iter().for_each(|pump| pump.holds(number));
        Ok(())
    };
    natives.set("bodyClaim", Function::new(ctx.clone(), claim)?)?;
    let whole: [(&str, Act); 3] = [
        ("socketAway", ConnectionEnd::send_away),
        ("socketClaim", ConnectionEnd::claim),
        ("socketDrop", ConnectionEnd::drop_connection),
    ];
    for (name, act) in whole {
        let this = host.clone();
        let act = move |ctx: Ctx<'js>, number: u32| -> Result<()> {
            act(&end(&ctx, &this, number)?);
            Ok(())
        };
        natives.set(name, Function::new(ctx.clone(), act)?)?;
    }
    Ok(())
}

fn frames<'js>(ctx: &Ctx<'js>, host: &Rc<Host>, natives: &Object<'js>) -> Result<()> {
    let this = host.clone();
    let send = move |ctx: Ctx<'js>, number: u32, message: Value<'js>| -> Result<()> {
        let frame = match bytes(Some(message.clone())) {
            Some(bytes) => Frame::Binary(bytes),
            None => Frame::text(text(&ctx, Some(message))?.unwrap_or_default()),
        };
        end(&ctx, &this, number)?.send(frame);
        Ok(())
    };
    natives.set("socketSend", Function::new(ctx.clone(), send)?)?;
    let this = host.clone();
    let close = move |ctx: Ctx<'js>, number: u32, code: u16, reason: String| -> Result<()> {
        end(&ctx, &this, number)?.send(Frame::close(code, &reason));
        Ok(())
    };
    natives.set("socketClose", Function::new(ctx.clone(), close)?)?;
    let this = host.clone();
    let whole = move |ctx: Ctx<'js>, number: u32| -> Result<()> {
        end(&ctx, &this, number)?.send(Frame::End);
        Ok(())
    };
    natives.set("bodyEnd", Function::new(ctx.clone(), whole)?)?;
    let this = host.clone();
    let cancel = move |ctx: Ctx<'js>, number: u32, reason: String| -> Result<()> {
        end(&ctx, &this, number)?.send(Frame::Cancel { reason: reason.into() });
        Ok(())
    };
    natives.set("bodyCancel", Function::new(ctx.clone(), cancel)?)?;
    let this = host.clone();
    let closed = move |ctx: Ctx<'js>, number: u32| -> Result<Vec<bool>> {
        let (sent, told) = end(&ctx, &this, number)?.closed();
        Ok(vec![sent, told])
    };
    natives.set("socketClosed", Function::new(ctx.clone(), closed)?)
}

fn attachments<'js>(ctx: &Ctx<'js>, host: &Rc<Host>, natives: &Object<'js>) -> Result<()> {
    let this = host.clone();
    let attach = move |ctx: Ctx<'js>, number: u32, value: String| -> Result<()> {
        end(&ctx, &this, number)?.attach(Body::from(value));
        Ok(())
    };
    natives.set("socketAttach", Function::new(ctx.clone(), attach)?)?;
    let this = host.clone();
    let attachment = move |ctx: Ctx<'js>, number: u32| -> Result<Option<String>> {
        let attached = end(&ctx, &this, number)?.attachment();
        Ok(attached.map(|body| body.text().unwrap_or_default().to_string()))
    };
    natives.set("socketAttachment", Function::new(ctx.clone(), attachment)?)?;
    let this = host.clone();
    let tags = move |ctx: Ctx<'js>, number: u32| -> Result<Vec<String>> {
        Ok(end(&ctx, &this, number)?.tags().iter().map(|tag| tag.to_string()).collect())
    };
    natives.set("socketTags", Function::new(ctx.clone(), tags)?)?;
    let this = host.clone();
    let answered = move |ctx: Ctx<'js>, number: u32| -> Result<Option<f64>> {
        Ok(end(&ctx, &this, number)?.answered().map(|at| at.unix_ms() as f64))
    };
    natives.set("socketAnswered", Function::new(ctx.clone(), answered)?)
}

fn objects<'js>(ctx: &Ctx<'js>, host: &Rc<Host>, natives: &Object<'js>) -> Result<()> {
    let this = host.clone();
    let accept = move |ctx: Ctx<'js>, of: u32, number: u32, tags: Vec<String>| -> Result<()> {
        let tags = tags.into_iter().map(Arc::from).collect();
        object(&ctx, &this, of)?.accept_web_socket(&end(&ctx, &this, number)?, tags);
        Ok(())
    };
    natives.set("socketAccept", Function::new(ctx.clone(), accept)?)?;
    let this = host.clone();
    let all = move |ctx: Ctx<'js>, of: u32| -> Result<Vec<u32>> {
        let ends = object(&ctx, &this, of)?.web_socket_ends();
        Ok(ends.iter().map(ConnectionEnd::number).collect())
    };
    natives.set("sockets", Function::new(ctx.clone(), all)?)?;
    let this = host.clone();
    let get = move |ctx: Ctx<'js>, of: u32| -> Result<Option<Vec<String>>> {
        let pair = object(&ctx, &this, of)?.auto_response();
        Ok(pair.map(|(request, response)| vec![request.to_string(), response.to_string()]))
    };
    natives.set("autoResponse", Function::new(ctx.clone(), get)?)?;
    let this = host.clone();
    let set = move |ctx: Ctx<'js>, of: u32, pair: Vec<String>| -> Result<()> {
        let pair = match &pair[..] {
            [request, response] => Some((request.as_str().into(), response.as_str().into())),
            _ => None,
        };
        object(&ctx, &this, of)?.set_auto_response(pair);
        Ok(())
    };
    natives.set("setAutoResponse", Function::new(ctx.clone(), set)?)
}
