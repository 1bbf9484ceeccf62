//! What each host does with a request, and what it takes up again when it comes back.

use std::collections::btree_map::Entry;
use std::rc::Rc;

use super::{Host, Message, Protocol, RETRY, Reply, STEPS, Verb, World};

impl Protocol {
    /// Handles a request.
    pub async fn serve<W: World>(self: Rc<Self>, world: W, message: Message) -> Reply {
        match message.verb {
            Verb::Put => self.put(&world, message).await,
            Verb::Notify => self.notify(&world, message),
            Verb::Deliver => self.deliver(&world, message).await,
            Verb::Head => self.head(message),
            Verb::Observe => self.observe(&world, message).await,
            Verb::Start => self.start(&world, message),
            Verb::Advance => self.advance(message),
        }
    }

    /// What a host does when it comes up: work that it had promised goes on.
    pub fn boot<W: World>(self: &Rc<Self>, world: &W, host: Host) {
        match host {
            Host::Queue => {
                let pending: Vec<Message> = self.pending.borrow().values().copied().collect();
                pending.into_iter().for_each(|message| self.push(world, message));
            }
            Host::Engine => {
                let workflows = self.workflows.borrow();
                let unfinished = workflows.iter().filter(|(_, step)| **step < STEPS);
                unfinished.for_each(|(upload, step)| self.run(world, *upload, *step));
            }
            Host::Store | Host::Worker | Host::Agent => {}
        }
    }

    /// Store.
    async fn put<W: World>(&self, world: &W, message: Message) -> Reply {
        self.objects.borrow_mut().insert(message.key, message.upload);
        self.call(world, Host::Queue, message.with(Verb::Notify)).await
    }

    /// Store.
    fn head(&self, message: Message) -> Reply {
        match self.objects.borrow().get(&message.key) {
            Some(newest) if *newest >= message.upload => Reply::Done,
            _ => Reply::Failed,
        }
    }

    /// Queue: the sender has its reply at once, delivery is the queue's own affair.
    fn notify<W: World>(self: &Rc<Self>, world: &W, message: Message) -> Reply {
        if self.pending.borrow_mut().insert(message.upload, message).is_none() {
            self.push(world, message);
        }
        Reply::Done
    }

    /// Queue: delivers until it is acknowledged.
    fn push<W: World>(self: &Rc<Self>, world: &W, message: Message) {
        let delivery = message.with(Verb::Deliver);
        if message.upload == self.repeated {
            let (protocol, copy) = (self.clone(), world.clone());
            world.spawn(async move {
                protocol.call(&copy, Host::Worker, delivery).await;
            });
        }
        let (protocol, own) = (self.clone(), world.clone());
        world.spawn(async move {
            while protocol.call(&own, Host::Worker, delivery).await != Reply::Done {
                own.sleep(RETRY).await;
            }
            protocol.pending.borrow_mut().remove(&message.upload);
        });
    }

    /// Worker.
    async fn deliver<W: World>(&self, world: &W, message: Message) -> Reply {
        match self.call(world, Host::Store, message.with(Verb::Head)).await {
            Reply::Done => self.call(world, Host::Agent, message.with(Verb::Observe)).await,
            other => other,
        }
    }

    /// Agent.
    async fn observe<W: World>(&self, world: &W, message: Message) -> Reply {
        self.rows.upsert(message.upload, message.key);
        self.call(world, Host::Engine, message.with(Verb::Start)).await
    }

    /// Agent.
    fn advance(&self, message: Message) -> Reply {
        if self.rows.advance(message.upload, message.step) { Reply::Done } else { Reply::Already }
    }

    /// Engine: a workflow that is known is not started again.
    fn start<W: World>(self: &Rc<Self>, world: &W, message: Message) -> Reply {
        if let Entry::Vacant(vacant) = self.workflows.borrow_mut().entry(message.upload) {
            vacant.insert(0);
            self.run(world, message.upload, 0);
        }
        Reply::Done
    }

    /// Engine: the steps after `done`, each repeated until the agent has heard of it.
    fn run<W: World>(self: &Rc<Self>, world: &W, upload: u8, done: u8) {
        let (protocol, own) = (self.clone(), world.clone());
        world.spawn(async move {
            for step in done + 1..=STEPS {
                let message = Message { verb: Verb::Advance, upload, key: 0, step };
                while protocol.call(&own, Host::Agent, message).await == Reply::Failed {
                    own.sleep(RETRY).await;
                }
                protocol.workflows.borrow_mut().insert(upload, step);
            }
        });
    }
}
