// `node:async_hooks`. A store belongs to a frame, which code inherits from the code that asked for it: by calling it, by
// `then` or `await`, or by a timer. `frame.rs` says how.
import natives from "thunderhead:natives";

// The stores of each frame, by their storages.
const frames = [new Map()];
const stores = () => frames[natives.frame()];

// The number of a frame like the present one, but with this store.
const framed = (storage, store) => frames.push(new Map(stores()).set(storage, store)) - 1;

function within(frame, work, self, args) {
  const before = natives.enterFrame(frame);
  try {
    return work.apply(self, args);
  } finally {
    natives.enterFrame(before);
  }
}

// Whoever adds a reaction to a promise asks first for its constructor, `await` included. A reaction that is added here
// runs directly before that one.
const { prototype } = Promise;
const { then } = prototype;
let isFollowing = false;
Object.defineProperty(prototype, "constructor", {
  configurable: true,
  get() {
    if (isFollowing || this === prototype || !(this instanceof Promise)) return Promise;
    isFollowing = true;
    const frame = natives.frame();
    const enter = () => void natives.enterFrame(frame);
    then.call(this, enter, enter);
    isFollowing = false;
    return Promise;
  },
  set(value) {
    Object.defineProperty(this, "constructor", { value, writable: true, configurable: true, enumerable: true });
  },
});

function bound(work) {
  const frame = natives.frame();
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
    if (typeof work !== "function") throw new TypeError("Failed to execute 'run' on 'AsyncLocalStorage': parameter 2 is not of type 'function'.");
    return within(framed(this, store), work, undefined, args);
  }
  exit(work, ...args) {
    return this.run(undefined, work, ...args);
  }
  enterWith() {
    throw new Error("asyncLocalStorage.enterWith() is not implemented");
  }
  disable() {
    throw new Error("asyncLocalStorage.disable() is not implemented");
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
