// `node:async_hooks`. The engine does not tell which continuation belongs to which call, so a store is kept for the
// invocation in which `run` was called, until what that returned is settled.
import natives from "thunderhead:natives";

export class AsyncLocalStorage {
  #stores = new Map();
  #here() {
    return natives.invocation();
  }
  getStore() {
    return this.#stores.get(this.#here());
  }
  enterWith(store) {
    this.#stores.set(this.#here(), store);
  }
  run(store, work, ...args) {
    const here = this.#here();
    const before = this.#stores.get(here);
    const restore = () => (before === undefined ? this.#stores.delete(here) : this.#stores.set(here, before));
    this.#stores.set(here, store);
    let result;
    try {
      result = work(...args);
    } catch (error) {
      restore();
      throw error;
    }
    // Code that waits for the result goes on after the store was taken back.
    if (typeof result?.then === "function") return Promise.resolve(result).finally(restore);
    restore();
    return result;
  }
  exit(work, ...args) {
    return this.run(undefined, work, ...args);
  }
  disable() {
    this.#stores.clear();
  }
  static bind(work) {
    return work;
  }
  static snapshot() {
    return (work, ...args) => work(...args);
  }
}

export class AsyncResource {
  runInAsyncScope(work, self, ...args) {
    return work.apply(self, args);
  }
  bind(work) {
    return work.bind(this);
  }
  emitDestroy() {
    return this;
  }
  static bind(work) {
    return work;
  }
}

export const createHook = () => ({ enable() {}, disable() {} });
export const executionAsyncId = () => 0;
export const triggerAsyncId = () => 0;
export const executionAsyncResource = () => ({});
export const asyncWrapProviders = {};
export default { executionAsyncResource, asyncWrapProviders, AsyncLocalStorage, AsyncResource, createHook, executionAsyncId, triggerAsyncId };
