//! The kinds of calls between applications and the platform, as data that every layer understands.

/// One kind of call, such as `r2.put`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call {
    /// Its number for ever. Seeds and tapes depend on it, so a new kind of call takes the next free
    /// number wherever its line stands.
    pub id: u8,
    /// Its name in scripts, tapes and traces: the service and the method.
    pub name: &'static str,
    /// The numbers that a script may give as the `code` of a `fail`.
    pub codes: &'static [u32],
}

impl Call {
    /// The method without its service: `put` of `r2.put`.
    pub fn method(&self) -> &'static str {
        self.name.split_once('.').map_or(self.name, |(_, method)| method)
    }
}

/// Gives an enum of operations its calls: one line for each variant, with number, name and codes.
macro_rules! calls {
    ($op:ident: $($variant:ident => $id:literal, $name:literal, $codes:expr;)*) => {
        /// Every kind of call to this service.
        pub const CALLS: &[$crate::values::call::Call] = &[
            $($crate::values::call::Call { id: $id, name: $name, codes: $codes },)*
        ];

        impl $op {
            /// The kind of call that it is.
            pub fn call(&self) -> $crate::values::call::Call {
                match self {
                    $($op::$variant { .. } => {
                        $crate::values::call::Call { id: $id, name: $name, codes: $codes }
                    })*
                }
            }
        }
    };
}
pub(crate) use calls;

/// The kind of boundary that a call crosses, which decides what faults can strike it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallClass {
    /// A host calls a platform service.
    Service,
    /// A host or a client calls a worker.
    Fetch,
    /// The platform hands work to a worker.
    Delivery,
    /// One service tells another.
    Event,
    /// A host calls a durable object.
    Rpc,
    /// A message on an open connection.
    Socket,
    /// A host asks a model.
    Ai,
    /// A host creates a workflow instance.
    Create,
    /// The engine of a workflow writes its own journal.
    Journal,
    /// A host reads a database in a session that lets a replica answer.
    Read,
}

impl CallClass {
    /// Every class, in the order of their discriminants.
    pub const ALL: [CallClass; 10] = [
        CallClass::Service,
        CallClass::Fetch,
        CallClass::Delivery,
        CallClass::Event,
        CallClass::Rpc,
        CallClass::Socket,
        CallClass::Ai,
        CallClass::Create,
        CallClass::Journal,
        CallClass::Read,
    ];
}
