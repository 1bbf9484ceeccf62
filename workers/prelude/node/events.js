// `node:events`. Older packages inherit from EventEmitter without `class`, often without calling it, or copy its methods.
// So it is a plain function, its methods are enumerable, and the listeners are made when the first one is added.
export const errorMonitor = Symbol("events.errorMonitor");

// Hidden, so that they are not copied or printed with what the emitter itself has.
const hide = (emitter, name, value) => Object.defineProperty(emitter, name, { value, writable: true, configurable: true, enumerable: false });
const allOf = (emitter, name) => emitter._events?.[name] ?? [];

function check(listener) {
  if (typeof listener === "function") return;
  throw Object.assign(new TypeError('The "listener" argument must be of type function.'), { code: "ERR_INVALID_ARG_TYPE" });
}

function add(emitter, name, listener, first) {
  check(listener);
  if (emitter._events === undefined) hide(emitter, "_events", Object.create(null));
  if (emitter._events.newListener) emitter.emit("newListener", name, listener.listener ?? listener);
  // A new list each time: one that is being called stays as it was.
  const all = allOf(emitter, name);
  emitter._events[name] = first ? [listener, ...all] : [...all, listener];
  return emitter;
}

function calledOnce(emitter, name, listener) {
  check(listener);
  let fired = false;
  const wrapped = function (...args) {
    if (fired) return undefined;
    fired = true;
    emitter.removeListener(name, wrapped);
    return listener.apply(emitter, args);
  };
  wrapped.listener = listener;
  return wrapped;
}

export function EventEmitter() {
  // A prototype that is itself an emitter must not share its listeners.
  if (this._events === undefined || this._events === Object.getPrototypeOf(this)._events) hide(this, "_events", Object.create(null));
}

Object.assign(EventEmitter.prototype, {
  on(name, listener) {
    return add(this, name, listener, false);
  },
  addListener(name, listener) {
    return add(this, name, listener, false);
  },
  once(name, listener) {
    return this.on(name, calledOnce(this, name, listener));
  },
  prependListener(name, listener) {
    return add(this, name, listener, true);
  },
  prependOnceListener(name, listener) {
    return this.prependListener(name, calledOnce(this, name, listener));
  },
  removeListener(name, listener) {
    const all = allOf(this, name);
    const at = all.findLastIndex((known) => known === listener || known.listener === listener);
    if (at < 0) return this;
    if (all.length === 1) delete this._events[name];
    else this._events[name] = all.filter((known, index) => index !== at);
    if (this._events.removeListener) this.emit("removeListener", name, listener.listener ?? listener);
    return this;
  },
  off(name, listener) {
    return this.removeListener(name, listener);
  },
  removeAllListeners(name) {
    if (this._events === undefined) return this;
    // Those that listen for removals hear of the others before they go themselves.
    const names = name === undefined ? [...this.eventNames().filter((each) => each !== "removeListener"), "removeListener"] : [name];
    for (const each of names) {
      if (this._events.removeListener && each !== "removeListener") for (const listener of [...allOf(this, each)].reverse()) this.removeListener(each, listener);
      else delete this._events[each];
    }
    return this;
  },
  emit(name, ...args) {
    if (name === "error") for (const listener of allOf(this, errorMonitor)) listener.apply(this, args);
    const all = allOf(this, name);
    if (!all.length && name === "error") {
      if (args[0] instanceof Error) throw args[0];
      throw Object.assign(new Error(`Unhandled error. (${args[0]})`), { code: "ERR_UNHANDLED_ERROR", context: args[0] });
    }
    for (const listener of all) listener.apply(this, args);
    return all.length > 0;
  },
  listenerCount(name, listener) {
    return listener === undefined ? allOf(this, name).length : this.listeners(name).filter((known) => known === listener).length;
  },
  listeners(name) {
    return allOf(this, name).map((listener) => listener.listener ?? listener);
  },
  rawListeners(name) {
    return [...allOf(this, name)];
  },
  eventNames() {
    return this._events === undefined ? [] : Reflect.ownKeys(this._events);
  },
  setMaxListeners(count) {
    return hide(this, "_maxListeners", count);
  },
  getMaxListeners() {
    return this._maxListeners ?? EventEmitter.defaultMaxListeners;
  },
});

export function once(emitter, name) {
  return new Promise((resolve, reject) => {
    const heard = (...args) => {
      emitter.off("error", failed);
      resolve(args);
    };
    const failed = (error) => {
      emitter.off(name, heard);
      reject(error);
    };
    if (name !== "error") emitter.once("error", failed);
    emitter.once(name, heard);
  });
}

// The events of a name, one after the other, until an error or until the loop is left.
export function on(emitter, name) {
  const [heard, waiting] = [[], []];
  let failure;
  const listener = (...args) => (waiting.length ? waiting.shift().resolve({ value: args, done: false }) : void heard.push(args));
  const failed = (error) => (waiting.length ? waiting.shift().reject(error) : void (failure = { error }));
  emitter.on(name, listener);
  if (name !== "error") emitter.on("error", failed);
  let done = false;
  const end = async () => {
    done = true;
    emitter.off(name, listener).off("error", failed);
    for (const { resolve } of waiting.splice(0)) resolve({ value: undefined, done });
    return { value: undefined, done };
  };
  return {
    async next() {
      if (heard.length) return { value: heard.shift(), done: false };
      if (failure) {
        const { error } = failure;
        failure = undefined;
        await end();
        throw error;
      }
      return done ? { value: undefined, done } : new Promise((resolve, reject) => waiting.push({ resolve, reject }));
    },
    return: end,
    async throw(error) {
      failed(error);
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

export const listenerCount = (emitter, name) => emitter.listenerCount(name);
export const getEventListeners = (emitter, name) => emitter.listeners(name);
export const setMaxListeners = (count, ...emitters) => {
  for (const emitter of emitters) emitter.setMaxListeners?.(count);
};
export const getMaxListeners = (emitter) => emitter.getMaxListeners?.() ?? EventEmitter.defaultMaxListeners;
export function addAbortListener(signal, listener) {
  if (signal.aborted) Promise.resolve().then(() => listener());
  else signal.addEventListener("abort", listener, { once: true });
  return { [Symbol.dispose]: () => signal.removeEventListener("abort", listener) };
}
export const captureRejectionSymbol = Symbol.for("nodejs.rejection");
export const [captureRejections, usingDomains] = [false, false];
Object.assign(EventEmitter, { getMaxListeners, addAbortListener, captureRejectionSymbol, captureRejections, usingDomains });
Object.assign(EventEmitter, { defaultMaxListeners: 10, EventEmitter, once, on, listenerCount, getEventListeners, setMaxListeners, errorMonitor });
export const { defaultMaxListeners } = EventEmitter;
// What `require("events")` is in modules of the older style.
export { EventEmitter as __commonJs };
export default EventEmitter;
