// Streams that are read, by the standard's rules for how much is asked of a source ahead of its reader. There are no
// byte readers: a part comes as it was enqueued.
import natives from "thunderhead:natives";
import { bufferOf, concat } from "thunderhead:text";

// How long a stream is known to be, and all of its bytes when they are there already.
export const length = Symbol("length");
export const whole = Symbol("whole");
// Whether some of it was read, or all of its bytes were taken.
export const disturbed = Symbol("disturbed");

const NO_BYTES = "This ReadableStream did not return bytes.";
const LOCKED = "This ReadableStream is currently locked to a reader.";

export class ReadableStreamDefaultReader {
  constructor(stream) {
    return stream.getReader();
  }
}

// There are no byte readers.
export class ReadableStreamBYOBReader {
  constructor() {
    throw new TypeError("This ReadableStream does not support BYOB reads.");
  }
}

export class ReadableStream {
  #source;
  #limit;
  #sizeOf;
  // Parts that nobody has read, with their sizes, and readers that wait for one.
  #parts = [];
  #waiting = [];
  #state = "open";
  #ending = false;
  #error;
  #started = false;
  #pulling = false;
  #pullAgain = false;
  #closed = Promise.withResolvers();
  #locked = false;
  #controller;
  constructor(source = {}, { highWaterMark = source?.type === "bytes" ? 0 : 1, size = () => 1 } = {}) {
    this.#source = source ?? {};
    [this.#limit, this.#sizeOf] = [Number(highWaterMark), size];
    const room = () => this.#room();
    this.#controller = {
      get desiredSize() {
        return room();
      },
      byobRequest: null,
      enqueue: (part) => this.#enqueue(part),
      close: () => this.#end(),
      error: (error) => this.#fail(error),
    };
    // Nobody has to ask how a stream ended.
    this.#closed.promise.catch(() => {});
    const started = () => {
      this.#started = true;
      this.#pull();
    };
    Promise.resolve(this.#source.start?.(this.#controller)).then(started, (error) => this.#fail(error));
  }
  get locked() {
    return this.#locked;
  }
  #room() {
    if (this.#state !== "open") return this.#state === "closed" ? 0 : null;
    return this.#limit - this.#parts.reduce((all, { size }) => all + size, 0);
  }
  // Asks the source for more if somebody waits for it or there is room for it: one question at a time.
  #pull() {
    const wanted = this.#waiting.length > 0 || this.#room() > 0;
    if (!this.#started || this.#ending || this.#state !== "open" || !wanted || !this.#source.pull) return;
    this.#pullAgain = this.#pulling;
    if (this.#pulling) return;
    this.#pulling = true;
    const pulled = () => {
      this.#pulling = false;
      if (this.#pullAgain) this.#pull();
    };
    // What it throws at once ends the stream, too.
    new Promise((resolve) => resolve(this.#source.pull(this.#controller))).then(pulled, (error) => this.#fail(error));
  }
  #enqueue(part) {
    if (this.#state !== "open" || this.#ending) throw new TypeError("The stream is closed.");
    if (this.#waiting.length) this.#waiting.shift().resolve({ value: part, done: false });
    else this.#parts.push({ part, size: Number(this.#sizeOf(part)) });
    this.#pull();
  }
  // What was enqueued can still be read.
  #end() {
    this.#ending = true;
    if (this.#state !== "open" || this.#parts.length) return;
    this.#state = "closed";
    this.#closed.resolve();
    for (const { resolve } of this.#waiting.splice(0)) resolve({ value: undefined, done: true });
  }
  #fail(error) {
    if (this.#state !== "open") return;
    [this.#state, this.#error, this.#parts] = ["errored", error, []];
    this.#closed.reject(error);
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }
  async #read() {
    this[disturbed] = true;
    if (this.#parts.length) {
      const { part } = this.#parts.shift();
      if (this.#ending) this.#end();
      else this.#pull();
      return { value: part, done: false };
    }
    if (this.#state === "errored") throw this.#error;
    if (this.#state === "closed") return { value: undefined, done: true };
    const next = Promise.withResolvers();
    this.#waiting.push(next);
    this.#pull();
    return next.promise;
  }
  async #cancel(reason) {
    this[disturbed] = true;
    if (this.#state === "errored") throw this.#error;
    if (this.#state === "closed") return;
    this.#parts = [];
    this.#end();
    await this.#source.cancel?.(reason);
  }
  getReader({ mode } = {}) {
    if (mode === "byob") throw new TypeError('getReader({ mode: "byob" }) is not simulated.');
    if (this.#locked) throw new TypeError(LOCKED);
    this.#locked = true;
    let held = true;
    const reader = {
      read: async () => {
        if (!held) throw new TypeError("This ReadableStream reader has been released.");
        return this.#read();
      },
      cancel: (reason) => this.#cancel(reason),
      releaseLock: () => {
        if (held) [held, this.#locked] = [false, false];
      },
      closed: this.#closed.promise,
    };
    return Object.setPrototypeOf(reader, ReadableStreamDefaultReader.prototype);
  }
  async cancel(reason) {
    if (this.#locked) throw new TypeError(LOCKED);
    await this.#cancel(reason);
  }
  async *values({ preventCancel = false } = {}) {
    const reader = this.getReader();
    let over = false;
    try {
      for (;;) {
        const { value, done } = await reader.read().catch((error) => {
          over = true;
          throw error;
        });
        over = done;
        if (done) return;
        yield value;
      }
    } finally {
      // Who leaves the loop early wants no more.
      if (!over && !preventCancel) await reader.cancel();
      reader.releaseLock();
    }
  }
  [Symbol.asyncIterator](options) {
    return this.values(options);
  }
  async pipeTo(writable, { preventClose = false, preventAbort = false, preventCancel = false, signal } = {}) {
    if (this.#locked) throw new TypeError(LOCKED);
    const [writer, reader] = [writable.getWriter(), this.getReader()];
    // While nothing comes, the other side may end, or somebody who waits for neither.
    const ended = writer.closed.then(() => Promise.reject(new TypeError("This WritableStream has been closed.")));
    const aborted = new Promise((resolve, reject) => signal?.addEventListener("abort", () => reject(signal.reason), { once: true }));
    for (const either of [ended, aborted]) either.catch(() => {});
    const both = (error) => Promise.allSettled([preventAbort ? undefined : writer.abort(error), preventCancel ? undefined : reader.cancel(error)]);
    try {
      for (;;) {
        signal?.throwIfAborted();
        const { value, done } = await Promise.race([reader.read(), ended, aborted]);
        if (done) break;
        await writer.write(value);
      }
      if (!preventClose) await writer.close();
    } catch (error) {
      await both(error);
      throw error;
    } finally {
      reader.releaseLock();
      writer.releaseLock();
    }
  }
  pipeThrough({ readable, writable }, options) {
    if (this.#locked || writable.locked) throw new TypeError(this.#locked ? LOCKED : "This WritableStream is currently locked to a writer.");
    this.pipeTo(writable, options).catch(() => {});
    return readable;
  }
  // Both branches have every part. What only one of them has read waits for the other.
  tee() {
    const reader = this.getReader();
    const [controllers, cancelled] = [[], [false, false]];
    let reading;
    const read = async () => {
      const { value, done } = await reader.read();
      reading = undefined;
      controllers.forEach((controller, at) => cancelled[at] || (done ? controller.close() : controller.enqueue(value)));
    };
    const failed = (error) => controllers.forEach((controller) => controller.error(error));
    const branch = (at) => ({
      start: (controller) => void (controllers[at] = controller),
      pull: () => (reading ??= read().catch(failed)),
      cancel: async (reason) => {
        cancelled[at] = true;
        if (cancelled[1 - at]) await reader.cancel(reason);
      },
    });
    return [0, 1].map((at) => new ReadableStream(branch(at), { highWaterMark: 0 }));
  }
  static from(iterable) {
    const all = iterable[Symbol.asyncIterator]?.() ?? iterable[Symbol.iterator]();
    const pull = async (controller) => {
      const { value, done } = await all.next();
      if (done) controller.close();
      else controller.enqueue(await value);
    };
    return new ReadableStream({ pull, cancel: async (reason) => void (await all.return?.(reason)) }, { highWaterMark: 0 });
  }
}

// A stream over bytes that are there already.
export function streamOf(buffer) {
  const stream = new ReadableStream({
    start(controller) {
      if (buffer.byteLength) controller.enqueue(new Uint8Array(buffer));
      controller.close();
    },
  });
  stream[length] = buffer.byteLength;
  stream[whole] = buffer;
  return stream;
}

// The bytes of a part of a body that leaves the isolate: there a text is what its bytes are.
export function bytesOfPart(part) {
  if (typeof part === "string") return natives.encode(part);
  if (part instanceof ArrayBuffer || ArrayBuffer.isView(part)) return bufferOf(part);
  throw new TypeError(NO_BYTES);
}

// All bytes of a stream, which stays locked.
export async function collect(stream, { texts = true } = {}) {
  const reader = stream.getReader();
  const parts = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return concat(parts);
    if (!texts && typeof value === "string") throw new TypeError(NO_BYTES);
    parts.push(bytesOfPart(value));
  }
}
