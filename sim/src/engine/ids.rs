//! The numbers of a run's hosts, calls, tasks, sockets and stubs, as types that cannot be confused.
//!
//! Each is an index into the part of the state that keeps such things, which implements `Index` for it.
//! Traces and draws hold the plain numbers, because they are public and read without a run.

macro_rules! id {
    ($(#[$about:meta])* $name:ident($number:ty)) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        #[repr(transparent)]
        pub(crate) struct $name(pub $number);

        impl $name {
            #[inline(always)]
            pub fn at(index: usize) -> $name {
                assert!(<$number>::try_from(index).is_ok(), "{index} is too large an index");
                $name(index as $number)
            }

            #[inline(always)]
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    };
}

id! {
    /// A host: a worker, a client, an object, an instance of a workflow, or a service.
    HostId(u16)
}
id! {
    /// A call through the doorway, numbered as in the trace.
    CallId(u32)
}
id! {
    /// A task: one future on one host.
    TaskId(u32)
}
id! {
    /// One end of a WebSocket. Ends are made in pairs.
    EndId(u32)
}
id! {
    /// A stub through which an object is called.
    StubId(u32)
}

impl EndId {
    /// The other end.
    pub fn peer(self) -> EndId {
        EndId(self.0 ^ 1)
    }
}

/// A gate that `block_concurrency_while` has closed. Gates are not kept in a list, so this is no index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct GateId(pub u32);

/// A connection between a client and an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SocketId(pub u32);
