//! A handler of an object: what runs when a call has arrived there.

use std::rc::Rc;
use std::sync::Arc;

use crate::engine::env::Env;
use crate::engine::host::{Instance, Invocation};
use crate::engine::ids::HostId;
use crate::engine::task::Work;
use crate::engine::world::World;
use crate::protocol::frame::Frame;
use crate::protocol::object::{AlarmInfo, ObjectError};
use crate::protocol::op::Op;
use crate::protocol::outcome::{Error, Reply};
use crate::values::body::Body;

/// What an object is asked to do.
enum ObjectCall {
    Rpc(Arc<str>, Body),
    Alarm(AlarmInfo),
    Message(u32, Body),
    Connect,
    Frame(u32, Frame),
}

impl ObjectCall {
    fn of(op: &Op) -> ObjectCall {
        match op {
            Op::Rpc { method, args, .. } => ObjectCall::Rpc(method.clone(), args.clone()),
            Op::Alarm { info, .. } => ObjectCall::Alarm(*info),
            Op::SocketMessage { socket, message, .. } => {
                ObjectCall::Message(*socket, message.clone())
            }
            Op::Connect { .. } => ObjectCall::Connect,
            Op::Frame { end, frame } => ObjectCall::Frame(*end, frame.clone()),
            _ => unreachable!("{op} does not go to an object"),
        }
    }
}

impl World {
    /// The future that calls the object's handler and answers when that is done.
    pub fn object_handler(self: &Rc<World>, host: HostId, invocation: Invocation) -> Work<()> {
        let asked = ObjectCall::of(self.state().trace.op(invocation.call.0));
        let env = Env::new(self.clone(), host);
        let world = self.clone();
        Box::pin(async move {
            let instance = match world.instance(host) {
                Ok(instance) => instance,
                // The object is reset, and with it this task.
                Err(error) => {
                    env.abort(&error.to_string());
                    std::future::pending().await
                }
            };
            // A constructor may have closed the gate behind itself.
            env.admitted().await;
            let thrown = |error: Error| match error {
                error @ Error::Object(_) => error,
                error => Error::Object(ObjectError::thrown(error.to_string())),
            };
            let outcome = match asked {
                ObjectCall::Rpc(method, args) => {
                    instance.rpc(method, args).await.map(Reply::Rpc).map_err(thrown)
                }
                ObjectCall::Alarm(info) => instance.alarm(info).await.map(|()| Reply::Done),
                ObjectCall::Message(socket, message) => {
                    instance.message(socket, message).await.map(|()| Reply::Done)
                }
                ObjectCall::Frame(end, frame) => {
                    instance.frame(end, frame).await.map(|()| Reply::Done)
                }
                ObjectCall::Connect => {
                    let mut state = world.state();
                    let client = state.calls[invocation.call].caller;
                    Ok(Reply::Socket(state.objects.sockets.open(client, host).0))
                }
            };
            world.state().handled_by_object(invocation, outcome);
        })
    }

    /// The object in memory, constructed anew when there is none.
    fn instance(self: &Rc<World>, host: HostId) -> Result<Rc<dyn Instance>, Error> {
        let state = self.state();
        let object = state.hosts.object(host);
        if let Some(instance) = &object.instance {
            return Ok(instance.clone());
        }
        let (id, storage, class) =
            (object.id.clone(), object.storage.clone(), object.class.clone());
        drop(state);
        let env = Env::new(self.clone(), host);
        let instance = (class.construct)(env, id, storage)?;
        self.state().hosts.object_mut(host).instance = Some(instance.clone());
        Ok(instance)
    }
}
