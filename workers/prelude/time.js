// The clock, timers and random numbers. All are the simulator's.
import natives from "thunderhead:natives";
import { beginCancellable, cancel } from "thunderhead:operation";

const Native = Date;
// The language's own class of dates.
export { Native as LanguageDate };

function now() {
  return natives.now();
}

// A date without arguments is the present of the simulation.
export const SimulatedDate = new Proxy(Native, {
  construct: (target, args, made) => Reflect.construct(target, args.length ? args : [now()], made === SimulatedDate ? target : made),
  apply: () => new Native(now()).toString(),
  get: (target, key, self) => (key === "now" ? now : Reflect.get(target, key, target)),
});

// A date as text names its time zone, as in the runtime.
const { toString } = Native.prototype;
const named = {
  toString() {
    const text = toString.call(this);
    return text.endsWith("GMT+0000") ? `${text} (Coordinated Universal Time)` : text;
  },
};
Object.defineProperty(Native.prototype, "toString", { value: named.toString, writable: true, configurable: true });
Object.defineProperty(Native.prototype, "constructor", { value: SimulatedDate, writable: true, configurable: true });

// 53 bits that nothing else in the run has. While the program boots, they follow a fixed row.
let row = 0;
export function random() {
  if (natives.booting()) {
    row = (row * 1103515245 + 12345) % 2147483648;
    return row / 2147483648;
  }
  const bits = natives.unique();
  return (parseInt(bits.slice(0, 8), 16) * 2 ** 21 + (parseInt(bits.slice(8, 16), 16) >>> 11)) / 2 ** 53;
}

const milliseconds = (value) => {
  const number = Math.trunc(Number(value));
  return number > 0 ? Math.min(number, 2 ** 31 - 1) : 0;
};

// An object that nobody has asked for so long is removed from memory by the platform, and its timers with it.
const IDLE_MS = 140_000;
let uses = 0;
let lastUse = 0;
// What begins again when the object is asked again: its constructor would begin it then.
let paused = [];

// Says that something uses the program, until the function is called that it returns.
export function inUse() {
  uses++;
  if (paused.length) {
    const waiting = paused;
    paused = [];
    for (const again of waiting) again();
  }
  return () => {
    uses--;
    lastUse = now();
  };
}

const isGone = () => uses === 0 && now() - lastUse > IDLE_MS;

// A callback runs in the frame in which it was asked for.
const inFrame = (callback) => {
  const frame = natives.frame();
  return (...args) => {
    natives.enterFrame(frame);
    callback(...args);
  };
};

export function setTimeout(callback, delay, ...args) {
  const fired = inFrame(callback);
  return beginCancellable("sleep", milliseconds(delay), () => isGone() || fired(...args));
}

// An id is a number, or an object that becomes one.
export const clearTimeout = (id) => cancel(Number(id));

export const setImmediate = (callback, ...args) => setTimeout(callback, 0, ...args);
export const clearImmediate = clearTimeout;

const intervals = new Map();

export function setInterval(given, delay, ...args) {
  const callback = inFrame(given);
  const begun = () => beginCancellable("sleep", Math.max(1, milliseconds(delay)), fired);
  const again = () => void (intervals.has(first) && intervals.set(first, begun()));
  const fired = () => {
    if (isGone()) return void paused.push(again);
    again();
    callback(...args);
  };
  const first = begun();
  intervals.set(first, first);
  return first;
}

export function clearInterval(given) {
  const id = Number(given);
  cancel(intervals.get(id) ?? id);
  intervals.delete(id);
}

export const scheduler = {
  wait: (ms, { signal } = {}) =>
    new Promise((resolve, reject) => {
      if (ms === undefined) throw new TypeError("Failed to execute 'wait' on 'Scheduler': parameter 1 is not of type 'number'.");
      signal?.throwIfAborted();
      const sleeping = beginCancellable("sleep", milliseconds(ms), () => resolve());
      const stop = () => {
        cancel(sleeping);
        reject(signal.reason);
      };
      signal?.addEventListener("abort", stop, { once: true });
    }),
};

export const performance = { now, timeOrigin: 0, mark() {}, measure() {} };
export const queueMicrotask = (callback) => void Promise.resolve().then(() => callback());
