//! The same seed gives the same history: in an isolate that has just booted, in one that was used, on any thread.

use thunderhead_props::search::{self, Sampling};
use thunderhead_props::{System, Variant};
use thunderhead_sim::{ClientRequest, Time, TraceHash};
use thunderhead_workers::booting_anew;

use crate::support::load;

const CONFIG: &str = r#""name": "web",
    "durable_objects": { "bindings": [{ "name": "O", "class_name": "Thing" }] },
    "queues": { "producers": [{ "binding": "Q", "queue": "q" }], "consumers": [{ "queue": "q", "max_batch_timeout": 1 }] }"#;
const SOURCE: &str = "import { DurableObject } from 'cloudflare:workers';
    let served = 0;
    export class Thing extends DurableObject {
      async fetch() { const { 0: client, 1: server } = new WebSocketPair(); this.ctx.acceptWebSocket(server); return new Response(null, { status: 101, webSocket: client }); }
      async webSocketMessage(socket, text) { await this.add(text); socket.send(crypto.randomUUID()); }
      async add(id) { this.ctx.storage.sql.exec('create table if not exists t (id text, at real, r real)');
        this.ctx.storage.sql.exec('insert into t values (?, ?, ?)', id, Date.now(), Math.random()); }
    }
    export default {
      async fetch(request, env) { if (request.headers.has('upgrade')) return env.O.getByName('a').fetch(request); served += 1; console.log('served', served); await env.Q.send({ id: crypto.randomUUID() }); return new Response('ok'); },
      async queue(batch, env) { for (const message of batch.messages) await env.O.getByName('a').add(message.body.id); },
    };";

const SAYS: &str = "one\n=== wait-for-server\n=== after 12s\ntwo\n=== wait-for-server";

fn system() -> System {
    let app = load(CONFIG, SOURCE).unwrap();
    let variant = Variant::holds("worker", "", move |cloud| app.mount(cloud));
    System::new("thing", "", variant).with_workload(|rng| {
        let request = |at: u32| {
            let (method, says) = if at == 1 { ("WEBSOCKET", SAYS) } else { ("POST", "") };
            ClientRequest::new(Time::from_ms(u64::from(at) * 40), method, "/", says).retried(90)
        };
        (0..1 + rng.below(3)).map(request).collect()
    })
}

fn hashes(system: &System, seeds: std::ops::Range<u64>) -> Vec<TraceHash> {
    let hash = |seed| {
        let (scenario, source) = search::of_seed(system, seed, Sampling::Random, 3);
        search::play(system.reference(), &scenario, &source).unwrap().trace.hash()
    };
    seeds.map(hash).collect()
}

#[test]
fn runs_are_the_same_from_a_fresh_boot_from_the_image_and_on_another_thread() {
    let one = system();
    let first = hashes(&one, 0..40);
    assert_eq!(hashes(&one, 0..40), first, "the second time from images");
    assert_eq!(booting_anew(|| hashes(&one, 0..40)), first, "each isolate from bytecode");
    assert_eq!(hashes(&system(), 0..40), first, "another program of the same text boots again");
    #[expect(clippy::disallowed_methods, reason = "the test is about threads")]
    let elsewhere = std::thread::scope(|scope| scope.spawn(|| hashes(&one, 0..40)).join().unwrap());
    assert_eq!(elsewhere, first);
    let alone: Vec<TraceHash> = (30..40).flat_map(|seed| hashes(&one, seed..seed + 1)).collect();
    assert_eq!(alone, first[30..], "a run does not depend on those before it");
}
