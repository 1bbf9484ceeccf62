//! Correct Workers of which a promise was once said to be broken.

use std::sync::Arc;

use thunderhead_props::search::{self, Sampling};
use thunderhead_sim::Rng;
use thunderhead_workers::Worker;

use crate::support::load;

const DATABASE: &str =
    r#""d1_databases": [{ "binding": "DB", "database_name": "db", "database_id": "1" }]"#;

/// What the first 150 storms break.
fn broken(config: &str, source: &str, storm: &str) -> Option<String> {
    let config = format!(r#""name": "web", {config}"#);
    let app = Arc::unwrap_or_clone(load(&config, source).unwrap());
    let system = Worker::new(app, Some(storm)).unwrap().system("web".into(), ".".into());
    (0..150).find_map(|seed| {
        let (scenario, source) = search::of_seed(&system, seed, Sampling::Random, 3);
        let checked = search::check(&system, system.reference(), &scenario, &source).unwrap();
        let violation = checked.1.into_iter().next()?;
        Some(format!("seed {seed}: {}: {}", violation.promise, violation.finding.message))
    })
}

#[test]
fn no_two_firings_of_a_trigger_were_due_at_the_same_time() {
    let source = "export default { scheduled() {} };";
    let app = Arc::unwrap_or_clone(load("\"name\": \"web\"", source).unwrap());
    let worker = Worker::new(app, Some("SCHEDULED 0 * * * *\n")).unwrap();
    let system = worker.system("web".into(), ".".into());
    for seed in 0..50 {
        let requests = system.workload(&mut Rng::new(seed));
        let due = requests.iter().map(|sent| sent.request.headers.get("scheduled-time").unwrap());
        let due: Vec<u64> = due.map(|ms| ms.parse().unwrap()).collect();
        assert!(due.is_sorted_by(|one, next| one < next), "seed {seed}: {due:?}");
        assert!(due.iter().all(|ms| ms.is_multiple_of(3_600_000)), "seed {seed}: {due:?}");
    }
}

/// A trigger is not due twice at once, and its time lies on its grid.
#[test]
fn a_report_for_each_time_at_which_a_trigger_was_due_is_written_once() {
    let source = "export default { async scheduled(controller, env) {
        await env.DB.exec('CREATE TABLE IF NOT EXISTS reports (at INTEGER PRIMARY KEY)');
        await env.DB.prepare('INSERT INTO reports VALUES (?) ON CONFLICT DO NOTHING').bind(controller.scheduledTime).run();
    } };";
    for cron in ["0 * * * *", "*/5 * * * *", "* * * * *", "0 3 * * *"] {
        let config = format!(r#"{DATABASE}, "triggers": {{ "crons": ["{cron}"] }}"#);
        assert_eq!(broken(&config, source, &format!("SCHEDULED {cron}\n")), None, "{cron}");
    }
}

/// A window has another number later, and how many fall into one depends on when each is handled.
#[test]
fn requests_are_counted_in_windows_of_time() {
    let source = "export default { async fetch(request, env) {
        await env.DB.exec('CREATE TABLE IF NOT EXISTS hits (window INTEGER PRIMARY KEY, n INTEGER)');
        const window = Math.floor(Date.now() / 60_000);
        await env.DB.prepare('INSERT INTO hits VALUES (?, 1) ON CONFLICT DO UPDATE SET n = n + 1').bind(window).run();
        return new Response('counted');
    } };";
    assert_eq!(broken(DATABASE, source, "POST /\n"), None);
}

#[test]
fn an_object_may_refuse_what_it_has_never_answered() {
    let source = "import { DurableObject } from 'cloudflare:workers';
        export class Account extends DurableObject { async deposit(n) {
          if (!(n > 0)) throw new Error('an amount is positive');
          await this.ctx.storage.put('last', n);
        } }
        export default { async fetch(request, env) {
          await env.ACCOUNT.getByName('ann').deposit(Number(new URL(request.url).searchParams.get('n')));
          return new Response('done');
        } };";
    let config = r#""durable_objects": { "bindings": [{ "name": "ACCOUNT", "class_name": "Account" }] },
        "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Account"] }]"#;
    assert_eq!(broken(config, source, "POST /?n=5\n###\nPOST /?n=-1\n"), None);
}

/// A workload that is drawn may start an order and never approve it.
#[test]
fn a_workflow_may_give_up_waiting_for_an_event_that_nobody_sends() {
    let source = "import { WorkflowEntrypoint } from 'cloudflare:workers';
        export class Order extends WorkflowEntrypoint { async run(event, step) {
          const approval = await step.waitForEvent('approval', { type: 'approve', timeout: '24 hours' });
          await step.do('save', () => this.env.KV.put(event.instanceId, JSON.stringify(approval.payload)));
        } }
        export default { async fetch(request, env) {
          if (new URL(request.url).pathname === '/approve') {
            await (await env.ORDER.get('a')).sendEvent({ type: 'approve', payload: { by: 'ann' } });
          } else {
            await env.ORDER.create({ id: 'a' }).catch(error => { if (!/exists/.test(error)) throw error; });
          }
          return new Response('done');
        } };";
    let config = r#""workflows": [{ "binding": "ORDER", "name": "order", "class_name": "Order" }],
        "kv_namespaces": [{ "binding": "KV", "id": "kv" }]"#;
    assert_eq!(broken(config, source, "POST /start\n### after 2s\nPOST /approve\n"), None);
}

/// The handler throws, so that no answer comes however often the client connects.
#[test]
fn a_client_may_wait_in_vain_for_an_answer() {
    let source = "import { DurableObject } from 'cloudflare:workers';
        export class Room extends DurableObject {
          fetch() {
            const [client, server] = Object.values(new WebSocketPair());
            this.ctx.acceptWebSocket(server);
            return new Response(null, { status: 101, webSocket: client });
          }
          webSocketMessage() { throw new Error('no'); }
          async webSocketClose(socket, code) {
            await this.ctx.storage.put('closed', [...(await this.ctx.storage.get('closed') ?? []), code]);
          }
        }
        export default { fetch: (request, env) => env.ROOM.getByName('one').fetch(request) };";
    let config = r#""durable_objects": { "bindings": [{ "name": "ROOM", "class_name": "Room" }] },
        "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Room"] }]"#;
    assert_eq!(broken(config, source, "WEBSOCKET /\n\nhello\n=== wait-for-server\n"), None);
}

/// A trigger mends what a crash has left undone, for as long as the Worker is deployed. No line of the file fires it.
#[test]
fn what_the_next_firing_of_a_trigger_mends_is_no_trace() {
    let source = "const sweep = async (env) => {
          await env.DB.exec('CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, status TEXT)');
          await env.DB.prepare(`UPDATE orders SET status = 'sent'`).run();
        };
        export default {
          async fetch(request, env, ctx) {
            await env.DB.exec('CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, status TEXT)');
            await env.DB.prepare(`INSERT INTO orders VALUES ('a', 'placed') ON CONFLICT DO NOTHING`).run();
            ctx.waitUntil(sweep(env));
            return new Response('placed');
          },
          async scheduled(controller, env) { await sweep(env); },
        };";
    let config = |cron: &str| format!(r#"{DATABASE}, "triggers": {{ "crons": [{cron}] }}"#);
    assert_eq!(broken(&config(r#""*/5 * * * *""#), source, "POST /\n"), None);
    let undone = broken(&config(""), source, "POST /\n");
    assert!(undone.is_some_and(|why| why.contains("the storm leaves no trace")), "nothing sweeps");
}

/// A search that waits for a trigger to succeed would compare nothing.
#[test]
fn a_trigger_that_fails_in_the_calm_is_named_and_does_not_keep_a_search_from_comparing() {
    let source = "export default {
          async fetch(request, env) {
            const n = Number(await env.KV.get('n') ?? 0);
            await env.KV.put('n', String(n + 1));
            return new Response('counted');
          },
          async scheduled(controller, env) { await env.AI.run('model', {}); },
        };";
    let config = r#""ai": { "binding": "AI" }, "triggers": { "crons": ["0 * * * *"] },
        "kv_namespaces": [{ "binding": "KV", "id": "kv" }]"#;
    let app = load(&format!(r#""name": "web", {config}"#), source).unwrap();
    let notes = Worker::new(Arc::unwrap_or_clone(app), Some("POST /\n")).unwrap().notes();
    let named = |note: &String| note.contains("the cron trigger `0 * * * *` fails in the calm");
    assert!(notes.iter().any(named), "{notes:?}");
    assert!(broken(config, source, "POST /\n").is_some());
}
