//! What values of the runtime look like: their classes, what they say that they are, and what a timer returns. Every
//! answer is one that the runtime gave to the same text.

use crate::support::{answers, fetch, load, play, values};

const NODE: &str = r#""name": "web", "compatibility_flags": ["nodejs_compat"]"#;

#[test]
fn a_value_of_a_class_of_the_runtime_says_what_it_is() {
    values(&[(
        "[new Headers(), new Request('http://a/'), new Response(), new URL('http://a/'), new URLSearchParams(), new ReadableStream(), new WritableStream(), new TransformStream(), new IdentityTransformStream(),
          new Blob([]), new File([], 'a'), new FormData(), crypto, crypto.subtle, new TextEncoder(), new AbortController(), new Event('a'), caches, caches.default, navigator, performance, scheduler, globalThis,
          new ReadableStream().getReader(), new WritableStream().getWriter(), new DOMException('a')].map((value) => Object.prototype.toString.call(value).slice(8, -1)).join()",
        r#""Headers,Request,Response,URL,URLSearchParams,ReadableStream,WritableStream,TransformStream,IdentityTransformStream,Blob,File,FormData,Crypto,SubtleCrypto,TextEncoder,AbortController,Event,CacheStorage,Cache,Navigator,Performance,Scheduler,ServiceWorkerGlobalScope,ReadableStreamDefaultReader,WritableStreamDefaultWriter,DOMException""#,
    )]);
}

#[test]
fn classes_of_the_runtime_are_global_and_most_cannot_be_made() {
    values(&[
        (
            "[Crypto, SubtleCrypto, CryptoKey, Cache, CacheStorage, Navigator, Performance, ExtendableEvent, FetchEvent, ScheduledEvent, PromiseRejectionEvent, WorkerGlobalScope]
               .filter((Class) => { try { new Class('a'); return true; } catch (error) { return String(error) !== 'TypeError: Illegal constructor'; } })",
            "[]",
        ),
        (
            "[crypto instanceof Crypto, crypto.subtle instanceof SubtleCrypto, caches.default instanceof Cache, navigator instanceof Navigator, globalThis instanceof ServiceWorkerGlobalScope,
              new ReadableStreamDefaultReader(new ReadableStream()) instanceof ReadableStreamDefaultReader, new WritableStreamDefaultWriter(new WritableStream()) instanceof WritableStreamDefaultWriter, typeof Cloudflare.compatibilityFlags]",
            r#"[true,true,true,true,true,true,true,"object"]"#,
        ),
    ]);
}

#[test]
fn the_entrypoints_of_a_worker_are_the_keys_of_its_exports() {
    let source = "import { WorkerEntrypoint } from 'cloudflare:workers';
      export class Named extends WorkerEntrypoint {}
      export default { fetch: (request, env, ctx) => Response.json([Object.keys(ctx.exports).sort(), 'Named' in ctx.exports, 'None' in ctx.exports]) };";
    let run = play(&load(NODE, source).unwrap(), &[("GET", "/", "")]);
    assert_eq!(answers(&run), [r#"200 [["Named","default"],true,false]"#]);
}

#[test]
fn a_timer_is_an_object_for_node_and_a_number_without_it() {
    let said = fetch(
        NODE,
        "const fired = [];
         const timer = setTimeout(() => fired.push('late'), 20);
         const told = [typeof timer, typeof +timer, timer.hasRef(), timer.unref() === timer, timer.hasRef(), timer.refresh() === timer, timer.constructor.name];
         const gone = setTimeout(() => fired.push('gone'), 5); clearTimeout(gone);
         const byNumber = setTimeout(() => fired.push('by number'), 5); clearTimeout(+byNumber);
         const often = setInterval(() => fired.push('often') === 2 && clearInterval(often), 5);
         await scheduler.wait(50);
         return Response.json([told, fired]);",
    );
    assert_eq!(
        said,
        r#"200 [["object","number",true,true,false,true,"Timeout"],["often","often","late"]]"#
    );
    values(&[("typeof setTimeout(() => {}, 1)", r#""number""#)]);
}

#[test]
fn a_wait_ends_with_its_signal() {
    values(&[(
        "(async () => { const controller = new AbortController(); setTimeout(() => controller.abort(), 5); const told = (work) => work().then(() => 'done', String);
           return [await told(() => scheduler.wait(1000, { signal: controller.signal })), await told(() => scheduler.wait(10, { signal: AbortSignal.abort(new Error('mine')) })), await told(() => scheduler.wait(1)), await told(() => scheduler.wait())]; })()",
        r#"["AbortError: The operation was aborted","Error: mine","done","TypeError: Failed to execute 'wait' on 'Scheduler': parameter 1 is not of type 'number'."]"#,
    )]);
}

#[test]
fn a_listener_is_found_behind_the_empty_default_export_of_a_bundler() {
    let source = "addEventListener('fetch', (event) => event.respondWith(new Response('heard')));\nexport default {};";
    let run = play(&load(r#""name": "web""#, source).unwrap(), &[("GET", "/", "")]);
    assert_eq!(answers(&run), ["200 heard"]);
}
