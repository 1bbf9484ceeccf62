// Workers in the older style, `addEventListener("fetch", …)`, as a default export.

const listeners = {};

// Listeners for anything else are never called: what nothing catches ends the invocation here.
export const addEventListener = (type, listener) => void (listeners[type] ??= listener);

// What the event has beside its own.
const eventOf = (type, ctx, more) => ({ type, waitUntil: (promise) => ctx.waitUntil(promise), passThroughOnException() {}, ...more });

function handled(type, more) {
  return async (given, env, ctx) => {
    const listener = listeners[type];
    const event = eventOf(type, ctx, more(given));
    const result = typeof listener === "function" ? listener(event) : listener.handleEvent(event);
    if (type !== "fetch") return void (await result);
    if (event.answer === undefined) throw new TypeError("The listener for `fetch` did not call respondWith().");
    return event.answer;
  };
}

const HANDLERS = {
  fetch: handled("fetch", (request) => ({
    request,
    respondWith(answer) {
      this.answer = Promise.resolve(answer);
    },
  })),
  scheduled: handled("scheduled", ({ cron, scheduledTime }) => ({ cron, scheduledTime })),
  queue: handled("queue", (batch) => ({ queue: batch.queue, messages: batch.messages, ackAll: () => batch.ackAll(), retryAll: (options) => batch.retryAll(options) })),
};

// The program with such a default export, if it has listeners and no default export of its own. Its bindings are global.
export function modernized(program, env) {
  const types = Object.keys(HANDLERS).filter((type) => listeners[type]);
  const { default: own } = program;
  // A bundler may give a module that exports nothing an empty object.
  const isEmpty = own !== undefined && own !== null && Object.getPrototypeOf(own) === Object.prototype && !Object.keys(own).length;
  const hasOwn = own !== undefined && !isEmpty;
  if (hasOwn || !types.length) return program;
  for (const name of Object.keys(env)) Object.defineProperty(globalThis, name, { get: () => env[name], configurable: true });
  return { ...program, default: Object.fromEntries(types.map((type) => [type, HANDLERS[type]])) };
}
