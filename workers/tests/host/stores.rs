//! Which store of `AsyncLocalStorage` code sees. Every answer is one that the runtime gave to the same program.

use thunderhead_sim::{ClientRequest, EventKind, Run, Scenario, Source, Tape, Time, simulate};

use crate::support::{answers, load, play};

const NODE: &str = r#""name": "web", "compatibility_flags": ["nodejs_compat"]"#;

fn logged(run: &Run) -> Vec<String> {
    let logged = run.trace.events().iter().filter_map(|event| match &event.kind {
        EventKind::Log { text } => Some(text.to_string()),
        _ => None,
    });
    logged.collect()
}

#[test]
fn a_store_follows_calls_of_then_and_what_is_bound_to_it() {
    let source = "import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
      const storage = new AsyncLocalStorage();
      const read = () => storage.getStore() ?? null;
      export default { async fetch() {
        const each = await Promise.all(['a', 'b', 'c'].map((name, at) => storage.run(name, () => scheduler.wait(10 - 3 * at).then(() => Promise.resolve()).then(read))));
        const bound = storage.run('bound', () => AsyncLocalStorage.bind(read))();
        const snapshot = storage.run('snapshot', () => AsyncLocalStorage.snapshot())(read);
        const resource = storage.run('resource', () => new AsyncResource('mine')).runInAsyncScope(read);
        const timer = await storage.run('timer', () => new Promise((resolve) => setTimeout(() => resolve(read()), 1)));
        const awaited = await storage.run('awaited', async () => { await scheduler.wait(1); return read(); });
        const microtask = await storage.run('microtask', () => new Promise((resolve) => queueMicrotask(() => resolve(read()))));
        let open; const gate = new Promise((resolve) => (open = resolve));
        const waiting = storage.run('waiting', () => gate.then(read)); storage.run('other', () => open());
        return Response.json([each, bound, snapshot, resource, timer, awaited, microtask, await waiting, read(), storage.run('in', () => storage.exit(read)), new AsyncLocalStorage({ defaultValue: 4 }).getStore()]);
      } };";
    let run = play(&load(NODE, source).unwrap(), &[("GET", "/", "")]);
    assert_eq!(
        answers(&run),
        [
            r#"200 [["a","b","c"],"bound","snapshot","resource","timer","awaited","microtask","waiting",null,null,4]"#
        ]
    );
}

#[test]
fn a_store_follows_every_await() {
    let source = "import { AsyncLocalStorage } from 'node:async_hooks';
      const storage = new AsyncLocalStorage();
      const read = () => storage.getStore() ?? null;
      const each = (work) => Promise.all(['a', 'b', 'c'].map((name, at) => storage.run(name, work, at)));
      async function* steps(at) { yield read(); await scheduler.wait(9 - 3 * at); yield read(); await at; yield read(); }
      const cases = {
        async promise(at) { await scheduler.wait(9 - 3 * at); const early = read(); await scheduler.wait(3 * at); return early + read(); },
        async value(at) { await scheduler.wait(1); await at; const early = read(); await undefined; return early + read(); },
        async thenable(at) { await { then: (done) => setTimeout(done, 5 - at) }; const early = read(); await { then: (done) => done(read()) }; return early + read(); },
        async inside(at) { await scheduler.wait(1); return await { then: (done) => done(read()) }; },
        async failure(at) { try { await scheduler.wait(1).then(() => { throw new Error(read()); }); } catch (error) { await 0; return error.message + read(); } },
        async generator(at) { let all = ''; for await (const step of steps(at)) all += step + read(); return all; },
        async nested(at) { const inner = await storage.run('n' + at, async () => { await scheduler.wait(2); return read(); }); return inner + read(); },
        async shared(at) { await gate; const early = read(); await gate; return early + read(); },
        async last(at) { return Promise.resolve(at).then(() => scheduler.wait(3 - at)).finally(() => {}).then(read); },
        async race(at) { await Promise.race([scheduler.wait(1), scheduler.wait(5)]); await Promise.allSettled([Promise.reject(1)]); return read(); },
        async interval(at) { return new Promise((done) => { const timer = setInterval(() => { clearInterval(timer); done(read()); }, 2 + at); }); },
      };
      let open; let gate = new Promise((done) => (open = done));
      export default { async fetch() {
        const told = {};
        setTimeout(open, 1);
        for (const [name, work] of Object.entries(cases)) told[name] = (await each(work)).join();
        const outside = read();
        const [kept] = [new Promise(() => {})];
        return Response.json({ ...told, outside, same: kept.constructor === Promise, ours: Promise.prototype.constructor === Promise });
      } };";
    let run = play(&load(NODE, source).unwrap(), &[("GET", "/", "")]);
    let told: serde_json::Value =
        serde_json::from_str(answers(&run)[0].strip_prefix("200 ").unwrap()).unwrap();
    let expected = serde_json::json!({
        "promise": "aa,bb,cc", "value": "aa,bb,cc", "thenable": "aa,bb,cc", "inside": "a,b,c",
        "failure": "aa,bb,cc", "generator": "aaaaaa,bbbbbb,cccccc", "nested": "n0a,n1b,n2c",
        "shared": "aa,bb,cc", "last": "a,b,c", "race": "a,b,c",
        "interval": "a,b,c", "outside": null, "same": true, "ours": true,
    });
    assert_eq!(told, expected);
}

#[test]
fn a_store_is_that_of_its_own_request() {
    let source = "import { AsyncLocalStorage } from 'node:async_hooks';
      const storage = new AsyncLocalStorage();
      export default { fetch: (request, env, ctx) => storage.run(new URL(request.url).pathname, async () => {
        for (let turn = 0; turn < 5; turn++) { await scheduler.wait(10); await turn; }
        ctx.waitUntil(scheduler.wait(10).then(async () => { await 1; console.log('behind ' + storage.getStore()); }));
        return new Response(storage.getStore());
      }) };";
    let app = load(NODE, source).unwrap();
    let asked = |path| ClientRequest::new(Time::ZERO, "GET", path, "");
    let scenario = Scenario { requests: vec![asked("/a"), asked("/b")], ..Scenario::default() };
    let run =
        simulate(&scenario, &Source::Tape(Tape::benign()), &|cloud| app.mount(cloud)).unwrap();
    assert_eq!(answers(&run), ["200 /a", "200 /b"]);
    assert_eq!(logged(&run), ["behind /a", "behind /b"]);
}

#[test]
fn a_rejection_that_nobody_handles_is_told_beside_stores() {
    let source = "import { AsyncLocalStorage } from 'node:async_hooks';
      const storage = new AsyncLocalStorage();
      export default { async fetch() {
        storage.run('a', () => { (async () => { await 1; throw new Error('lost'); })(); });
        await scheduler.wait(1);
        return new Response('here');
      } };";
    let run = play(&load(NODE, source).unwrap(), &[("GET", "/", "")]);
    assert_eq!(answers(&run), ["200 here"]);
    let told = logged(&run);
    assert!(told.len() == 1 && told[0].starts_with("Uncaught (in promise) lost"), "{told:?}");
}

#[test]
fn what_the_runtime_does_not_implement_fails_here_too() {
    let source = "import { AsyncLocalStorage } from 'node:async_hooks';
      const storage = new AsyncLocalStorage();
      const told = (work) => { try { return work(); } catch (error) { return String(error); } };
      export default { fetch: () => Response.json([told(() => storage.enterWith(1)), told(() => storage.disable()), told(() => storage.run(1, 2))]) };";
    let run = play(&load(NODE, source).unwrap(), &[("GET", "/", "")]);
    let expected = r#"200 ["Error: asyncLocalStorage.enterWith() is not implemented","Error: asyncLocalStorage.disable() is not implemented","TypeError: Failed to execute 'run' on 'AsyncLocalStorage': parameter 2 is not of type 'function'."]"#;
    assert_eq!(answers(&run), [expected]);
}
