// Bodies that cross to another isolate in parts, while they are made. The host knows the connection of each by the
// numbers of its two ends.
import natives from "thunderhead:natives";
import { Headers, pairsOf } from "thunderhead:headers";
import { begin, beginCancellable, cancel } from "thunderhead:operation";
import { ReadableStream, bytesOfPart, length } from "thunderhead:readable_stream";

// The header by which the number of a stream crosses. It never reaches the program.
const STREAM = "thunderhead-stream";

const lost = () => new Error("Network connection lost.");

// What an invocation sends and reads, by its ends, with promises for what it sends.
const streams = new Map();

function streamsOf(invocation) {
  if (!streams.has(invocation)) streams.set(invocation, { sending: new Map(), reading: new Set() });
  return streams.get(invocation);
}

// The invocation is not over before these promises are settled.
export function sentBy(invocation) {
  const known = streams.get(invocation);
  return known ? [...known.sending.values()] : [];
}

// What is not over then is lost, and what is not read is wanted no more.
export function endStreams(invocation) {
  if (!streams.has(invocation)) return;
  const { sending, reading } = streams.get(invocation);
  for (const end of sending.keys()) natives.socketDrop(end);
  for (const end of reading) natives.bodyCancel(end, "");
  streams.delete(invocation);
}

// The number under which another isolate can read the stream.
export function sendAway(stream) {
  if (stream.locked) throw new TypeError("The ReadableStream has been locked to a reader.");
  const [writer, reader] = natives.bodyPair();
  natives.socketAway(reader);
  const { sending } = streamsOf(natives.invocation());
  sending.set(writer, send(stream, writer).finally(() => sending.delete(writer)));
  return reader / 2;
}

async function send(stream, end) {
  const source = stream.getReader();
  const { promise: unwanted, resolve } = Promise.withResolvers();
  const listening = beginCancellable("listen", end, ({ value }) => resolve({ unwanted: value }));
  try {
    // The response leaves first.
    await begin("turn", null);
    for (;;) {
      const next = await Promise.race([unwanted, source.read()]);
      if (next.unwanted !== undefined) return await source.cancel(next.unwanted?.cancel ?? lost());
      if (next.done) return natives.bodyEnd(end);
      await begin("write", end, bytesOfPart(next.value));
    }
  } catch (error) {
    natives.socketDrop(end);
    throw error;
  } finally {
    cancel(listening);
  }
}

// The headers of a message, with one for its body if that is a stream.
export function withStream(headers, stream) {
  if (!stream) return headers instanceof Headers ? pairsOf(headers) : [...headers];
  const size = stream[length] === undefined || headers.has("content-length") ? [] : [["content-length", String(stream[length])]];
  return [...headers, ...size, [STREAM, String(sendAway(stream))]];
}

// The headers of a message that has come, and its body: bytes, a stream or nothing.
export function withoutStream(all, bytes) {
  const found = (wanted) => all.find((pair) => pair[0] === wanted)?.[1];
  const number = found(STREAM);
  if (number === undefined) return { headers: all, body: bytes?.byteLength ? bytes : null };
  const size = found("content-length");
  const body = streamAt(Number(number), size === undefined ? undefined : Number(size));
  return { headers: all.filter(([name]) => name !== STREAM), body };
}

// The header for a stream among the arguments of a call: who reads it has to be the only one.
export const streamHeader = (text) => {
  const number = /"\$":"stream","of":(\d+)/.exec(text)?.[1];
  return number === undefined ? [] : [[STREAM, number]];
};

// The stream of that number. Its length is known if a header says so.
export function streamAt(number, bytes) {
  const end = 2 * number;
  natives.bodyClaim(end);
  const { reading } = streamsOf(natives.invocation());
  reading.add(end);
  const over = () => reading.delete(end);
  const source = {
    async pull(controller) {
      const { value, bytes: part } = await begin("socket", end);
      if (value?.part) return controller.enqueue(new Uint8Array(part));
      over();
      if (value?.broken) return controller.error(lost());
      controller.close();
    },
    cancel(reason) {
      if (over()) natives.bodyCancel(end, reason === undefined ? "" : String(reason));
    },
  };
  const stream = new ReadableStream(source, { highWaterMark: 0 });
  if (bytes !== undefined) stream[length] = bytes;
  return stream;
}
