// `node:events`.
export class EventEmitter {
  #listeners = new Map();
  #all(name) {
    return this.#listeners.get(name) ?? [];
  }
  #add(name, listener, once, first) {
    if (typeof listener !== "function") throw new TypeError('The "listener" argument must be of type function.');
    const entry = { listener, once };
    this.#listeners.set(name, first ? [entry, ...this.#all(name)] : [...this.#all(name), entry]);
    return this;
  }
  on(name, listener) {
    return this.#add(name, listener, false, false);
  }
  addListener(name, listener) {
    return this.on(name, listener);
  }
  once(name, listener) {
    return this.#add(name, listener, true, false);
  }
  prependListener(name, listener) {
    return this.#add(name, listener, false, true);
  }
  prependOnceListener(name, listener) {
    return this.#add(name, listener, true, true);
  }
  off(name, listener) {
    const at = this.#all(name).findLastIndex((entry) => entry.listener === listener);
    if (at >= 0) this.#listeners.set(name, this.#all(name).filter((entry, index) => index !== at));
    return this;
  }
  removeListener(name, listener) {
    return this.off(name, listener);
  }
  removeAllListeners(name) {
    if (name === undefined) this.#listeners.clear();
    else this.#listeners.delete(name);
    return this;
  }
  emit(name, ...args) {
    const all = this.#all(name);
    if (!all.length && name === "error") throw args[0] instanceof Error ? args[0] : new Error(`Unhandled error. (${args[0]})`);
    for (const { listener, once } of all) {
      if (once) this.off(name, listener);
      listener.apply(this, args);
    }
    return all.length > 0;
  }
  listenerCount(name) {
    return this.#all(name).length;
  }
  listeners(name) {
    return this.#all(name).map(({ listener }) => listener);
  }
  rawListeners(name) {
    return this.listeners(name);
  }
  eventNames() {
    return [...this.#listeners].filter(([, all]) => all.length).map(([name]) => name);
  }
  setMaxListeners() {
    return this;
  }
  getMaxListeners() {
    return EventEmitter.defaultMaxListeners;
  }
  static defaultMaxListeners = 10;
  static EventEmitter = EventEmitter;
}

export function once(emitter, name) {
  return new Promise((resolve, reject) => {
    const failed = (error) => reject(error);
    if (name !== "error") emitter.once("error", failed);
    emitter.once(name, (...args) => {
      emitter.off("error", failed);
      resolve(args);
    });
  });
}
EventEmitter.once = once;
export const { defaultMaxListeners } = EventEmitter;
export default EventEmitter;
