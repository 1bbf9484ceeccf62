// Streams, as far as bodies need them: without backpressure and without byte readers.
import natives from "thunderhead:natives";
import { TextDecoder, TextEncoder, bufferOf, concat } from "thunderhead:text";

// How long a stream is known to be, and all of its bytes when they are there already.
export const length = Symbol("length");
export const whole = Symbol("whole");
// Whether some of it was read, or all of its bytes were taken.
export const disturbed = Symbol("disturbed");

export class ReadableStream {
  #chunks = [];
  #source;
  #state = "open";
  #error;
  #waiting = [];
  #closed = Promise.withResolvers();
  #locked = false;
  #controller;
  #started;
  constructor(source = {}) {
    this.#source = source;
    this.#controller = {
      desiredSize: 1,
      enqueue: (chunk) => this.#enqueue(chunk),
      close: () => this.#end("closed"),
      error: (error) => this.#end("errored", error),
    };
    // Nobody has to ask how a stream ended.
    this.#closed.promise.catch(() => {});
    this.#started = source.start?.(this.#controller);
    Promise.resolve(this.#started).catch((error) => this.#end("errored", error));
  }
  get locked() {
    return this.#locked;
  }
  #enqueue(chunk) {
    if (this.#state !== "open") throw new TypeError("The stream is closed.");
    if (this.#waiting.length) this.#waiting.shift().resolve({ value: chunk, done: false });
    else this.#chunks.push(chunk);
  }
  #end(state, error) {
    if (this.#state !== "open") return;
    [this.#state, this.#error] = [state, error];
    if (!this.#chunks.length || state === "errored") this.#settle();
    for (const { resolve, reject } of this.#waiting.splice(0)) {
      if (state === "errored") reject(error);
      else resolve({ value: undefined, done: true });
    }
  }
  // A stream is closed for its reader when the last of it was read.
  #settle() {
    if (this.#state === "errored") this.#closed.reject(this.#error);
    else this.#closed.resolve();
  }
  async #read() {
    this[disturbed] = true;
    await this.#started;
    if (!this.#chunks.length && this.#state === "open") await this.#source.pull?.(this.#controller);
    if (this.#chunks.length) {
      const value = this.#chunks.shift();
      if (!this.#chunks.length && this.#state === "closed") this.#settle();
      return { value, done: false };
    }
    if (this.#state === "errored") throw this.#error;
    if (this.#state === "closed") return { value: undefined, done: true };
    return new Promise((resolve, reject) => this.#waiting.push({ resolve, reject }));
  }
  getReader() {
    if (this.#locked) throw new TypeError("This ReadableStream is currently locked to a reader.");
    this.#locked = true;
    return {
      read: () => this.#read(),
      cancel: (reason) => this.#cancel(reason),
      releaseLock: () => {
        this.#locked = false;
      },
      closed: this.#closed.promise,
    };
  }
  async #cancel(reason) {
    this[disturbed] = true;
    this.#chunks = [];
    this.#end("closed");
    await this.#source.cancel?.(reason);
  }
  async cancel(reason) {
    if (this.#locked) throw new TypeError("This ReadableStream is currently locked to a reader.");
    await this.#cancel(reason);
  }
  async *values() {
    const reader = this.getReader();
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      yield value;
    }
  }
  [Symbol.asyncIterator]() {
    return this.values();
  }
  async pipeTo(writable, { preventClose = false, preventAbort = false } = {}) {
    const writer = writable.getWriter();
    try {
      for await (const chunk of this) await writer.write(chunk);
      if (!preventClose) await writer.close();
    } catch (error) {
      if (!preventAbort) await writer.abort(error);
      throw error;
    }
  }
  pipeThrough({ readable, writable }, options) {
    this.pipeTo(writable, options).catch(() => {});
    return readable;
  }
  tee() {
    const controllers = [];
    const branches = [0, 1].map((at) => new ReadableStream({ start: (controller) => void (controllers[at] = controller) }));
    (async () => {
      try {
        for await (const chunk of this) for (const controller of controllers) controller.enqueue(chunk);
        for (const controller of controllers) controller.close();
      } catch (error) {
        for (const controller of controllers) controller.error(error);
      }
    })();
    return branches;
  }
  static from(iterable) {
    return new ReadableStream({
      async start(controller) {
        for await (const chunk of iterable) controller.enqueue(chunk);
        controller.close();
      },
    });
  }
}

export class WritableStream {
  #sink;
  #locked = false;
  constructor(sink = {}) {
    this.#sink = sink;
    sink.start?.({ error() {} });
  }
  get locked() {
    return this.#locked;
  }
  getWriter() {
    if (this.#locked) throw new TypeError("This WritableStream is currently locked to a writer.");
    this.#locked = true;
    let ended;
    const closed = new Promise((resolve) => (ended = resolve));
    return {
      closed,
      ready: Promise.resolve(),
      desiredSize: 1,
      write: async (chunk) => this.#sink.write?.(chunk, {}),
      close: async () => {
        await this.#sink.close?.();
        ended();
      },
      abort: async (reason) => {
        await this.#sink.abort?.(reason);
        ended();
      },
      releaseLock: () => {
        this.#locked = false;
      },
    };
  }
  async close() {
    await this.getWriter().close();
  }
  async abort(reason) {
    await this.getWriter().abort(reason);
  }
}

export class TransformStream {
  constructor({ start, transform, flush } = {}) {
    let output;
    this.readable = new ReadableStream({ start: (controller) => void (output = controller) });
    const controller = {
      enqueue: (chunk) => output.enqueue(chunk),
      error: (error) => output.error(error),
      terminate: () => output.close(),
    };
    start?.(controller);
    // What a transformer throws ends both sides.
    const guarded = async (work) => {
      try {
        await work();
      } catch (error) {
        output.error(error);
        throw error;
      }
    };
    this.writable = new WritableStream({
      write: (chunk) => guarded(() => (transform ? transform(chunk, controller) : controller.enqueue(chunk))),
      close: async () => {
        await guarded(() => flush?.(controller));
        output.close();
      },
      abort: (error) => output.error(error),
    });
  }
}

// How much a stream holds back is not simulated, so these only say what they were given.
export class CountQueuingStrategy {
  constructor({ highWaterMark }) {
    this.highWaterMark = highWaterMark;
  }
  size() {
    return 1;
  }
}

export class ByteLengthQueuingStrategy {
  constructor({ highWaterMark }) {
    this.highWaterMark = highWaterMark;
  }
  size(chunk) {
    return chunk.byteLength;
  }
}

// All chunks are kept and changed at the end: nothing can be told of a part of them in a run.
class Packing extends TransformStream {
  constructor(format, work) {
    if (!["gzip", "deflate", "deflate-raw"].includes(format)) throw new TypeError("The compression format must be either 'deflate', 'deflate-raw' or 'gzip'.");
    const parts = [];
    const flush = (controller) => controller.enqueue(new Uint8Array(work(format, concat(parts))));
    super({ transform: (chunk) => void parts.push(typeof chunk === "string" ? natives.encode(chunk) : bufferOf(chunk).slice(0)), flush });
  }
}

export class CompressionStream extends Packing {
  constructor(format) {
    super(format, natives.compress);
  }
}

export class DecompressionStream extends Packing {
  constructor(format) {
    super(format, natives.decompress);
  }
}

export class IdentityTransformStream extends TransformStream {}

export class FixedLengthStream extends TransformStream {
  constructor(bytes) {
    super();
    this.readable[length] = Number(bytes);
  }
}

export class TextEncoderStream extends TransformStream {
  constructor() {
    super({ transform: (text, controller) => controller.enqueue(new TextEncoder().encode(text)) });
  }
}

export class TextDecoderStream extends TransformStream {
  constructor(label, options) {
    const decoder = new TextDecoder(label, options);
    super({ transform: (bytes, controller) => controller.enqueue(decoder.decode(bytes, { stream: true })) });
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

// All bytes of a stream.
export async function collect(stream) {
  const parts = [];
  for await (const chunk of stream) parts.push(typeof chunk === "string" ? new TextEncoder().encode(chunk).buffer : bufferOf(chunk));
  return concat(parts);
}
