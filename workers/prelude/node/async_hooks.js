// `node:async_hooks`. A store follows the calls of `then`, and what is bound to it. The engine does not tell which call an
// `await` goes on with, so behind one the stores are those with which `run` was called last in the invocation, until what
// that returned is settled.
import natives from "thunderhead:natives";

const NONE = new Map();
// The stores of what runs now, by their storages, where that is known.
let current;
// The others, by invocation.
const lasting = new Map();
const here = () => natives.invocation();
const stores = () => current ?? lasting.get(here()) ?? NONE;

// Calls `work` with these stores. They stay until what it returns is settled.
function within(frame, work, self, args) {
  const [before, invocation] = [current, here()];
  const last = lasting.get(invocation);
  const restore = () => (last === undefined ? lasting.delete(invocation) : lasting.set(invocation, last));
  lasting.set(invocation, frame);
  current = frame;
  let result;
  try {
    result = work.apply(self, args);
  } catch (error) {
    restore();
    throw error;
  } finally {
    current = before;
  }
  // Code that waits for the result goes on after the stores were taken back.
  if (typeof result?.then === "function") return Promise.resolve(result).finally(restore);
  restore();
  return result;
}

const { then } = Promise.prototype;
const following = (work, frame) =>
  typeof work !== "function"
    ? work
    : function (value) {
        const before = current;
        current = frame;
        try {
          return work(value);
        } finally {
          current = before;
        }
      };
const follow = {
  then(fulfilled, rejected) {
    if (current === undefined) return then.call(this, fulfilled, rejected);
    return then.call(this, following(fulfilled, current), following(rejected, current));
  },
};
Object.defineProperty(Promise.prototype, "then", { value: follow.then, writable: true, configurable: true });

function bound(work) {
  const frame = stores();
  return function (...args) {
    return within(frame, work, this, args);
  };
}

export class AsyncLocalStorage {
  #otherwise;
  constructor({ defaultValue, name = "" } = {}) {
    this.#otherwise = defaultValue;
    this.name = name;
  }
  getStore() {
    const all = stores();
    return all.has(this) ? all.get(this) : this.#otherwise;
  }
  run(store, work, ...args) {
    return within(new Map(stores()).set(this, store), work, undefined, args);
  }
  exit(work, ...args) {
    return this.run(undefined, work, ...args);
  }
  enterWith(store) {
    const frame = new Map(stores()).set(this, store);
    if (current) current = frame;
    lasting.set(here(), frame);
  }
  disable() {
    this.enterWith(undefined);
  }
  static bind(work) {
    return bound(work);
  }
  static snapshot() {
    return bound((work, ...args) => work(...args));
  }
}

export class AsyncResource {
  #run = AsyncLocalStorage.snapshot();
  constructor(type) {
    this.type = type;
  }
  runInAsyncScope(work, self, ...args) {
    return this.#run(() => work.apply(self, args));
  }
  bind(work) {
    return (...args) => this.runInAsyncScope(work, this, ...args);
  }
  emitDestroy() {
    return this;
  }
  asyncId() {
    return 0;
  }
  triggerAsyncId() {
    return 0;
  }
  static bind(work) {
    return bound(work);
  }
}

export const createHook = () => ({ enable() {}, disable() {} });
export const executionAsyncId = () => 0;
export const triggerAsyncId = () => 0;
export const executionAsyncResource = () => ({});
export const asyncWrapProviders = {};
export default { executionAsyncResource, asyncWrapProviders, AsyncLocalStorage, AsyncResource, createHook, executionAsyncId, triggerAsyncId };
