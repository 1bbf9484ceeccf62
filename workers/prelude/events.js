// Events and the signals that abort.
import { DOMException } from "thunderhead:dom_exception";
import { beginCancellable } from "thunderhead:operation";

export class Event {
  constructor(type, { bubbles = false, cancelable = false, composed = false } = {}) {
    Object.assign(this, { type: String(type), bubbles, cancelable, composed, defaultPrevented: false });
    this.target = this.currentTarget = null;
  }
  preventDefault() {
    if (this.cancelable) this.defaultPrevented = true;
  }
  stopPropagation() {}
  stopImmediatePropagation() {
    this.stopped = true;
  }
}

export class CustomEvent extends Event {
  constructor(type, options = {}) {
    super(type, options);
    this.detail = options.detail ?? null;
  }
}

export class MessageEvent extends Event {
  constructor(type, options = {}) {
    super(type, options);
    this.data = options.data ?? null;
  }
}

export class CloseEvent extends Event {
  constructor(type, { code = 0, reason = "", wasClean = false, ...options } = {}) {
    super(type, options);
    Object.assign(this, { code, reason, wasClean });
  }
}

export class ErrorEvent extends Event {
  constructor(type, { message = "", error = null, ...options } = {}) {
    super(type, options);
    Object.assign(this, { message, error });
  }
}

export class EventTarget {
  #listeners = new Map();
  addEventListener(type, listener, options) {
    if (!listener) return;
    const all = this.#listeners.get(type) ?? [];
    this.#listeners.set(type, all);
    if (all.some((known) => known.listener === listener)) return;
    all.push({ listener, once: typeof options === "object" && Boolean(options?.once) });
  }
  removeEventListener(type, listener) {
    const all = this.#listeners.get(type) ?? [];
    this.#listeners.set(type, all.filter((known) => known.listener !== listener));
  }
  dispatchEvent(event) {
    event.target = event.currentTarget = this;
    for (const { listener, once } of [...(this.#listeners.get(event.type) ?? [])]) {
      if (once) this.removeEventListener(event.type, listener);
      if (typeof listener === "function") listener.call(this, event);
      else listener.handleEvent(event);
      if (event.stopped) break;
    }
    return !event.defaultPrevented;
  }
}

const make = Symbol("make");
let connect;

export class AbortSignal extends EventTarget {
  aborted = false;
  reason = undefined;
  onabort = null;
  constructor(token) {
    super();
    if (token !== make) throw new TypeError("Illegal constructor");
  }
  throwIfAborted() {
    if (this.aborted) throw this.reason;
  }
  [make](reason = new DOMException("The operation was aborted", "AbortError")) {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    const event = new Event("abort");
    this.onabort?.(event);
    this.dispatchEvent(event);
  }
  static abort(reason) {
    const signal = new AbortSignal(make);
    signal[make](reason);
    return signal;
  }
  static timeout(ms) {
    const signal = new AbortSignal(make);
    const timedOut = () => signal[make](new DOMException("The operation was aborted due to timeout", "TimeoutError"));
    beginCancellable("deadline", Math.max(0, Math.trunc(ms)), timedOut);
    return signal;
  }
  static any(signals) {
    const signal = new AbortSignal(make);
    for (const other of signals) {
      if (other.aborted) signal[make](other.reason);
      else other.addEventListener("abort", () => signal[make](other.reason), { once: true });
    }
    return signal;
  }
}

export class AbortController {
  signal = new AbortSignal(make);
  abort(reason) {
    this.signal[make](reason);
  }
}

// The two ends of a channel: what is posted on one is heard on the other, when nothing else is to be done.
export class MessagePort extends EventTarget {
  #peer;
  #onmessage = null;
  static {
    connect = (one, other) => void ([one.#peer, other.#peer] = [other, one]);
  }
  set onmessage(listener) {
    this.#onmessage = listener;
  }
  get onmessage() {
    return this.#onmessage;
  }
  postMessage(message) {
    const peer = this.#peer;
    const data = structuredClone(message);
    Promise.resolve().then(() => {
      const event = new MessageEvent("message", { data });
      peer?.onmessage?.(event);
      peer?.dispatchEvent(event);
    });
  }
  start() {}
  close() {
    if (this.#peer) connect(this, new MessagePort());
  }
}

export class MessageChannel {
  port1 = new MessagePort();
  port2 = new MessagePort();
  constructor() {
    connect(this.port1, this.port2);
  }
}
