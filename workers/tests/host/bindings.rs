//! The services of the cloud, through their bindings.

use std::sync::Arc;

use thunderhead_sim::{
    ClientRequest, Fault, Scenario, ScriptedFault, Source, Tape, Time, simulate,
};
use thunderhead_workers::Worker;

use crate::support::{answers, fetch, load, play};

const R2: &str = r#""name": "web", "r2_buckets": [{ "binding": "B", "bucket_name": "photos" }]"#;
const D1: &str = r#""name": "web", "d1_databases": [{ "binding": "DB", "database_name": "shop" }]"#;

#[test]
fn a_bucket_stores_reads_lists_and_deletes() {
    let said = fetch(
        R2,
        "const put = await env.B.put('a/cat', 'meow', { httpMetadata: { contentType: 'text/plain' }, customMetadata: { who: 'ann' } });
         const got = await env.B.get('a/cat', { range: { offset: 1, length: 2 } });
         const none = await env.B.get('a/dog');
         const list = await env.B.list({ prefix: 'a/' });
         const refused = await env.B.put('a/cat', 'purr', { onlyIf: { etagMatches: 'other' } });
         await env.B.delete('a/cat');
         return Response.json([put.etag, await got.text(), got.httpMetadata.contentType, got.customMetadata.who, none,
           list.objects.map((object) => object.key), refused, await env.B.head('a/cat'), put.uploaded instanceof Date]);",
    );
    assert_eq!(
        said,
        r#"200 ["4a4be40c96ac6314e91d93f38043a634","eo","text/plain","ann",null,["a/cat"],null,null,true]"#
    );
}

#[test]
fn a_storage_class_that_does_not_exist_is_taken_as_the_usual_one() {
    let said = fetch(
        R2,
        "const put = async (storageClass) => (await env.B.put('a', 'x', { storageClass })).storageClass;
         const upload = await env.B.createMultipartUpload('b', { storageClass: 'Bogus' });
         const { storageClass } = await upload.complete([await upload.uploadPart(1, 'x')]);
         return Response.json([await put('Bogus'), await put('InfrequentAccess'), storageClass]);",
    );
    assert_eq!(said, r#"200 ["Standard","InfrequentAccess","Standard"]"#);
}

#[test]
fn an_upload_in_parts_becomes_one_object() {
    let said = fetch(
        R2,
        "const upload = await env.B.createMultipartUpload('big');
         const part = await upload.uploadPart(1, new Uint8Array([104, 105]));
         await upload.complete([part]);
         return new Response(await (await env.B.get('big')).text());",
    );
    assert_eq!(said, "200 hi");
}

#[test]
fn a_database_binds_values_and_answers_with_rows() {
    let said = fetch(
        D1,
        "await env.DB.exec('create table pets (name text, age real, photo blob)');
         const insert = env.DB.prepare('insert into pets values (?, ?, ?)');
         const [first] = await env.DB.batch([insert.bind('cat', 3, new Uint8Array([1, 255])), insert.bind('dog', null, null)]);
         const all = await env.DB.prepare('select * from pets order by name').all();
         const age = await env.DB.prepare('select age from pets where name = ?').bind('cat').first('age');
         const raw = await env.DB.prepare('select name from pets').raw({ columnNames: true });
         const error = await env.DB.prepare('select * from gone').all().catch((e) => e.message);
         return Response.json([first.meta.changes, all.results, age, raw, error]);",
    );
    let rows = r#"[{"name":"cat","age":3,"photo":[1,255]},{"name":"dog","age":null,"photo":null}]"#;
    assert_eq!(
        said,
        format!(
            r#"200 [1,{rows},3,[["name"],["cat"],["dog"]],"D1_ERROR: no such table: gone: SQLITE_ERROR"]"#
        )
    );
}

#[test]
fn what_a_database_measures_is_always_the_same() {
    let said = fetch(
        D1,
        "const { meta } = await env.DB.prepare('select 1').all();
         const { duration, timings, served_by, size_after, total_attempts } = meta;
         return Response.json([duration, timings, served_by, size_after, total_attempts]);",
    );
    assert_eq!(said, r#"200 [0,{"sql_duration_ms":0},"thunderhead",0,1]"#);
}

/// A system in Rust may write twice: that is a test of the service.
#[test]
fn a_write_of_a_worker_to_a_database_never_takes_effect_twice() {
    let source = "export default { async fetch(request, env) {
        await env.DB.exec('create table pets (name text)');
        await env.DB.prepare('insert into pets values (?)').bind('cat').run();
        return Response.json(await env.DB.prepare('select count(*) from pets').raw());
      } };";
    let app = load(D1, source).unwrap();
    let requests = vec![ClientRequest::new(Time::ZERO, "GET", "/", "")];
    let faults = vec![ScriptedFault::once(Fault::Duplicate, "d1.run")];
    let scenario = Scenario { requests, faults, ..Scenario::default() };
    let tape = Source::Tape(Tape::benign());
    let run = simulate(&scenario, &tape, &|cloud| app.mount(cloud)).unwrap();
    assert_eq!(answers(&run), ["200 [[1]]"]);
}

const QUEUE: &str = r#""name": "web",
    "queues": { "producers": [{ "binding": "Q", "queue": "orders" }],
                "consumers": [{ "queue": "orders", "max_batch_timeout": 1, "dead_letter_queue": "dead", "max_retries": 1 }] },
    "r2_buckets": [{ "binding": "B", "bucket_name": "seen" }]"#;

#[test]
fn a_queue_delivers_what_was_sent_and_a_handler_settles_each_message() {
    let source = "export default {
        async fetch(request, env) {
          await env.Q.send({ n: 1 });
          await env.Q.sendBatch([{ body: 'two', contentType: 'text' }, { body: new Map([['n', 3]]), contentType: 'v8' }]);
          return new Response('sent');
        },
        async queue(batch, env) {
          for (const message of batch.messages) {
            const body = message.body instanceof Map ? [...message.body] : message.body;
            await env.B.put(`${message.attempts}-${JSON.stringify(body)}`, batch.queue);
            if (body === 'two') message.retry({ delaySeconds: 2 }); else message.ack();
          }
        },
      };";
    let app = load(QUEUE, source).unwrap();
    let run = play(&app, &[("GET", "/", "")]);
    let text = run.trace.to_string();
    for stored in
        [r#"seen/1-{\"n\":1}"#, r#"seen/1-\"two\""#, r#"seen/1-[[\"n\",3]]"#, r#"seen/2-\"two\""#]
    {
        assert!(text.contains(stored), "{stored}: {text}");
    }
    assert!(text.contains("dead-lettered to dead"), "{text}");
}

#[test]
fn notifications_of_a_bucket_reach_the_queue_that_the_configuration_names() {
    let config = r#""name": "web", "r2_buckets": [{ "binding": "B", "bucket_name": "photos" }],
        "queues": { "consumers": [{ "queue": "uploaded" }] },
        "r2_notifications": [{ "bucket": "photos", "queue": "uploaded" }]"#;
    let source = "export default {
        async fetch(request, env) { await env.B.put('cat', 'meow'); return new Response('ok'); },
        async queue(batch) { console.log('told of', batch.messages[0].body.object.key); },
      };";
    let run = play(&load(config, source).unwrap(), &[("GET", "/", "")]);
    assert!(run.trace.to_string().contains("told of cat"), "{}", run.trace);
}

#[test]
fn variables_are_values_and_a_binding_without_a_service_says_so_when_it_is_called() {
    let said = fetch(
        r#""name": "web", "vars": { "N": 3, "S": "x" }, "vectorize": [{ "binding": "CACHE", "index_name": "1" }]"#,
        "let error; try { await env.CACHE.get('a'); } catch (e) { error = e.message; }
         return Response.json([env.N, env.S, error, typeof env.GONE]);",
    );
    assert_eq!(
        said,
        r#"200 [3,"x","env.CACHE.get() was called: Vectorize is not simulated yet.","undefined"]"#
    );
}

#[test]
fn a_cron_trigger_calls_scheduled() {
    let source =
        "export default { async scheduled(event, env, ctx) { console.log('cron', event.cron); } };";
    let app = Arc::unwrap_or_clone(load("\"name\": \"web\"", source).unwrap());
    let worker = Worker::new(app, Some("SCHEDULED 0 * * * *")).unwrap();
    let scenario = Scenario { requests: worker.one_by_one(), ..Scenario::default() };
    let source = Source::Tape(Tape::benign());
    let run = simulate(&scenario, &source, &|cloud| worker.mount(cloud)).unwrap();
    assert!(run.trace.to_string().contains("cron 0 * * * *"), "{}", run.trace);
    assert_eq!(answers(&run), ["200 "]);
}

#[test]
fn kv_takes_what_is_no_object_as_its_text_and_leaves_out_a_limit_that_is_none() {
    let said = fetch(
        r#""name": "web", "kv_namespaces": [{ "binding": "KV", "id": "kept" }]"#,
        "const told = (work) => work().catch(({ message }) => message);
         const kept = [];
         for (const value of [5, true, null, undefined, 5n]) { await env.KV.put('k', value); kept.push(await env.KV.get('k')); }
         const refused = [await told(() => env.KV.put('k', {})), await told(() => env.KV.put('k', () => 1)), await told(() => env.KV.put('k', Symbol('a')))];
         const listed = [(await env.KV.list({ limit: 0 })).keys.length, (await env.KV.list({ limit: -1 })).keys.length];
         return Response.json([kept, refused.map((text) => text.slice(0, 14)), listed, await told(() => env.KV.get([]))]);",
    );
    assert_eq!(
        said,
        r#"200 [["5","true","null","undefined","5"],["KV put() accep","KV put() accep","Cannot convert"],[1,1],"KV GET_BULK failed: 400 You must request a minimum of 1 key"]"#
    );
}
