// Streams that are written, and all that is global of streams.
import natives from "thunderhead:natives";
import { ReadableStream, length } from "thunderhead:readable_stream";
import { TextDecoder, TextEncoder, bufferOf, concat } from "thunderhead:text";

export { ReadableStream };

// What a sink of ours says of a part before it is queued.
const admit = Symbol("admit");
const LOCKED = "This WritableStream is currently locked to a writer.";

export class WritableStreamDefaultWriter {
  constructor(stream) {
    return stream.getWriter();
  }
}

export class WritableStream {
  #sink;
  #limit;
  // Writes are given to the sink one after the other.
  #last;
  #pending = 0;
  #room = Promise.resolve();
  #freed = () => {};
  #closing = false;
  #failed = false;
  #error;
  #closed = Promise.withResolvers();
  #locked = false;
  #controller = { error: (error) => this.#fail(error) };
  constructor(sink = {}, { highWaterMark = 1 } = {}) {
    [this.#sink, this.#limit] = [sink ?? {}, Number(highWaterMark)];
    // Nobody has to ask how a stream ended.
    this.#closed.promise.catch(() => {});
    this.#last = Promise.resolve(this.#sink.start?.(this.#controller));
    this.#last.catch((error) => this.#fail(error));
  }
  get locked() {
    return this.#locked;
  }
  #fail(error) {
    if (this.#failed) return;
    [this.#failed, this.#error] = [true, error];
    this.#closed.reject(error);
    this.#freed();
  }
  #fill() {
    const { promise, resolve } = Promise.withResolvers();
    [this.#room, this.#freed] = [promise, resolve];
  }
  #next(work) {
    const done = this.#last.then(() => {
      if (this.#failed) throw this.#error;
      return work();
    });
    this.#last = done.catch((error) => this.#fail(error));
    return done;
  }
  async #write(part) {
    if (this.#failed) throw this.#error;
    if (this.#closing) throw new TypeError("This WritableStream has been closed.");
    // What is refused here is as if it had never been written: the stream goes on.
    this.#sink[admit]?.(part);
    this.#pending += 1;
    if (this.#pending === this.#limit) this.#fill();
    try {
      await this.#next(() => this.#sink.write?.(part, this.#controller));
    } finally {
      this.#pending -= 1;
      if (this.#pending < this.#limit) this.#freed();
    }
  }
  async #close() {
    if (this.#closing) throw new TypeError("This WritableStream has been closed.");
    this.#closing = true;
    await this.#next(() => this.#sink.close?.());
    this.#closed.resolve();
  }
  async #abort(reason) {
    if (this.#failed) return;
    this.#fail(reason);
    await this.#sink.abort?.(reason);
  }
  getWriter() {
    if (this.#locked) throw new TypeError(LOCKED);
    this.#locked = true;
    const [ready, room] = [() => this.#room, () => (this.#failed ? null : this.#limit - this.#pending)];
    const writer = {
      get ready() {
        return ready();
      },
      get desiredSize() {
        return room();
      },
      closed: this.#closed.promise,
      write: (part) => this.#write(part),
      close: () => this.#close(),
      abort: (reason) => this.#abort(reason),
      releaseLock: () => void (this.#locked = false),
    };
    return Object.setPrototypeOf(writer, WritableStreamDefaultWriter.prototype);
  }
  async close() {
    if (this.#locked) throw new TypeError(LOCKED);
    await this.#close();
  }
  async abort(reason) {
    if (this.#locked) throw new TypeError(LOCKED);
    await this.#abort(reason);
  }
}

// What is written waits until somebody reads: who awaits a write before the other end is read waits for ever.
export class TransformStream {
  constructor({ start, transform, flush, cancel, [admit]: check } = {}, writableStrategy, readableStrategy) {
    let output, input, gone;
    let wanted = Promise.withResolvers();
    const source = {
      start: (controller) => void (output = controller),
      pull: () => wanted.resolve(),
      cancel: (reason) => {
        gone = { reason };
        input.error(reason);
        wanted.resolve();
        return cancel?.(reason);
      },
    };
    this.readable = new ReadableStream(source, { highWaterMark: readableStrategy?.highWaterMark ?? 0, size: readableStrategy?.size });
    let enqueued = false;
    const controller = {
      get desiredSize() {
        return output.desiredSize;
      },
      enqueue: (part) => {
        enqueued = true;
        output.enqueue(part);
      },
      error: (error) => {
        output.error(error);
        input.error(error);
      },
      terminate: () => {
        output.close();
        input.error(new TypeError("The transform stream has been terminated."));
      },
    };
    // What a transformer throws ends both sides.
    const guarded = async (work) => {
      try {
        await work();
      } catch (error) {
        output.error(error);
        throw error;
      }
    };
    const sink = {
      [admit]: check,
      start: (of) => {
        input = of;
        return start?.(controller);
      },
      write: async (part) => {
        await wanted.promise;
        if (gone) throw gone.reason;
        // A part that makes none of its own leaves the reader waiting for the next.
        [wanted, enqueued] = [Promise.withResolvers(), false];
        await guarded(() => (transform ? transform(part, controller) : controller.enqueue(part)));
        if (!enqueued) wanted.resolve();
      },
      close: async () => {
        await guarded(() => flush?.(controller));
        output.close();
      },
      abort: (error) => output.error(error),
    };
    this.writable = new WritableStream(sink, writableStrategy);
  }
}

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
  size(part) {
    return part.byteLength;
  }
}

// All parts are kept and changed at the end: nothing can be told of one of them in a run.
class Packing extends TransformStream {
  constructor(format, work) {
    if (!["gzip", "deflate", "deflate-raw"].includes(format)) throw new TypeError("The compression format must be either 'deflate', 'deflate-raw' or 'gzip'.");
    const parts = [];
    const flush = (controller) => controller.enqueue(new Uint8Array(work(format, concat(parts))));
    super({ transform: (part) => void parts.push(typeof part === "string" ? natives.encode(part) : bufferOf(part).slice(0)), flush });
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

// Both of these are made of bytes, and a text is what its bytes are.
function onlyBytes(part) {
  if (typeof part === "string" || part instanceof ArrayBuffer || ArrayBuffer.isView(part)) return;
  throw new TypeError("This TransformStream is being used as a byte stream, but received an object of non-ArrayBuffer/ArrayBufferView type on its writable side.");
}
const bytesOf = (part) => new Uint8Array(typeof part === "string" ? natives.encode(part) : bufferOf(part).slice(0));

export class IdentityTransformStream extends TransformStream {
  constructor() {
    super({ [admit]: onlyBytes, transform: (part, controller) => controller.enqueue(bytesOf(part)) });
  }
}

// A stream that has exactly so many bytes. Who writes others hears of it when the stream is closed, as in the runtime.
export class FixedLengthStream extends TransformStream {
  constructor(size) {
    if (size === undefined) throw new TypeError("Failed to construct 'FixedLengthStream': constructor parameter 1 is not of type 'bigint'.");
    const expected = Number(size);
    if (!Number.isInteger(expected)) throw new TypeError("The value cannot be converted because it is not an integer.");
    if (expected < 0) throw new TypeError("The value cannot be converted because it is negative and this API expects a positive bigint.");
    let left = expected;
    super({
      [admit]: onlyBytes,
      transform: (part, controller) => {
        const bytes = bytesOf(part);
        left -= bytes.length;
        if (left >= 0) controller.enqueue(bytes);
        else controller.error(new TypeError("Attempt to write too many bytes through a FixedLengthStream."));
      },
      flush: (controller) => {
        if (left > 0) controller.error(new TypeError("FixedLengthStream did not see all expected bytes before close()."));
      },
    });
    this.readable[length] = expected;
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
    const tell = (text, controller) => void (text && controller.enqueue(text));
    super({ transform: (bytes, controller) => tell(decoder.decode(bytes, { stream: true }), controller), flush: (controller) => tell(decoder.decode(), controller) });
  }
}
