//! What namespaces of KV hold.

use std::collections::BTreeMap;

use thunderhead_sim::{Body, Op, Trace, kv};

/// What every key holds in the end, by namespace and key. What has expired is still listed: nothing in a trace says so.
pub fn namespaces(trace: &Trace) -> BTreeMap<(&str, &str), &Body> {
    let mut held = BTreeMap::new();
    for (_, op, outcome) in trace.effects() {
        match (op, outcome) {
            (Op::Kv(kv::Op::Put { namespace, key, value, .. }), Ok(_)) => {
                held.insert((&**namespace, &**key), value);
            }
            (Op::Kv(kv::Op::Delete { namespace, key }), Ok(_)) => {
                held.remove(&(&**namespace, &**key));
            }
            _ => {}
        }
    }
    held
}
