//! Durable objects on their hosts: turns and gates, alarms, connections, storage.

pub(crate) mod alarm;
pub(crate) mod instance;
pub(crate) mod sockets;
pub mod storage;
pub(crate) mod turn;
