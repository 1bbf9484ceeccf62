// Classes that are global in the runtime and that no program makes itself: it has their instances, or asks whether a
// value is one of them.
import { console } from "thunderhead:console";
import { crypto } from "thunderhead:crypto";
import { Event } from "thunderhead:events";
import { ReadableStreamBYOBReader, ReadableStreamDefaultReader } from "thunderhead:readable_stream";
import { WritableStreamDefaultWriter } from "thunderhead:streams";
import { performance, scheduler } from "thunderhead:time";

// A class of that name, of which these are the only instances.
function only(name, ...instances) {
  const Class = function () {
    throw new TypeError("Illegal constructor");
  };
  Object.defineProperty(Class, "name", { value: name });
  for (const instance of instances) Object.setPrototypeOf(instance, Class.prototype);
  return Class;
}

// An event that the runtime alone makes.
function event(name, Parent) {
  const Class = only(name);
  Object.setPrototypeOf(Class.prototype, Parent.prototype);
  return Object.setPrototypeOf(Class, Parent);
}

// A cache may always miss, and this one does.
const cache = {
  match: async () => undefined,
  put: async (request) => {
    if ((request?.method ?? "GET") !== "GET") throw new TypeError("Cannot cache response to non-GET request.");
  },
  delete: async () => false,
};
const caches = { default: cache, open: async () => cache };
const navigator = { userAgent: "Cloudflare-Workers", language: "en", hardwareConcurrency: 1 };
const ExtendableEvent = event("ExtendableEvent", Event);

export const CLASSES = {
  ...{ Cache: only("Cache", cache), CacheStorage: only("CacheStorage", caches), Navigator: only("Navigator", navigator) },
  ...{ Crypto: only("Crypto", crypto), SubtleCrypto: only("SubtleCrypto", crypto.subtle), Performance: only("Performance", performance) },
  ...{ ExtendableEvent, FetchEvent: event("FetchEvent", ExtendableEvent), ScheduledEvent: event("ScheduledEvent", ExtendableEvent) },
  ...{ PromiseRejectionEvent: event("PromiseRejectionEvent", Event), WorkerGlobalScope: only("WorkerGlobalScope") },
  ...{ ReadableStreamBYOBReader, ReadableStreamDefaultReader, WritableStreamDefaultWriter },
};
// What says what it is and has no global class.
const UNNAMED = { Scheduler: only("Scheduler", scheduler), console: only("console", console) };

const ServiceWorkerGlobalScope = only("ServiceWorkerGlobalScope");
// The global object keeps all that objects have.
Object.setPrototypeOf(ServiceWorkerGlobalScope.prototype, Object.getPrototypeOf(globalThis));
Object.setPrototypeOf(globalThis, ServiceWorkerGlobalScope.prototype);
delete globalThis[Symbol.toStringTag];

// A runtime may keep what a weak reference refers to, but not lose it in the turn in which the reference was made, as the
// engine's own does when nothing else refers to it.
class WeakRef {
  #target;
  constructor(target) {
    if (Object(target) !== target && typeof target !== "symbol") throw new TypeError("WeakRef: invalid target");
    this.#target = target;
  }
  deref() {
    return this.#target;
  }
}
Object.defineProperty(WeakRef.prototype, Symbol.toStringTag, { value: "WeakRef", configurable: true });

export const things = { caches, navigator, ServiceWorkerGlobalScope, WeakRef };

// Every class of the runtime says its name when a value of it is asked what it is.
export function tagged(classes) {
  for (const [name, Class] of Object.entries({ ...classes, ...UNNAMED, ServiceWorkerGlobalScope })) {
    if (typeof Class !== "function" || !/^[A-Z]|^console$/.test(name) || !Class.prototype || Object.hasOwn(Class.prototype, Symbol.toStringTag)) continue;
    Object.defineProperty(Class.prototype, Symbol.toStringTag, { value: name, configurable: true });
  }
}
