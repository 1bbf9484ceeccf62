//! What namespaces of KV hold.

use thunderhead_sim::{Body, Op, SortedMap, Trace, kv};

/// What every key holds for good, by namespace and key. A value that expires is not listed: it is gone in the end.
pub fn namespaces(trace: &Trace) -> SortedMap<(&str, &str), &Body> {
    let mut held = SortedMap::new();
    for (_, op, outcome) in trace.effects() {
        match (op, outcome) {
            (Op::Kv(kv::Op::Put { namespace, key, value, options }), Ok(_)) if keeps(options) => {
                held.insert((&**namespace, &**key), value);
            }
            (
                Op::Kv(kv::Op::Delete { namespace, key } | kv::Op::Put { namespace, key, .. }),
                Ok(_),
            ) => {
                held.remove(&(&**namespace, &**key));
            }
            _ => {}
        }
    }
    held
}

fn keeps(options: &kv::PutOptions) -> bool {
    options.expiration.is_none() && options.expiration_ttl.is_none()
}
