// `node:stream/web`.
import * as streams from "thunderhead:streams";
import { ReadableStreamBYOBReader, ReadableStreamDefaultReader } from "thunderhead:readable_stream";

export const { ReadableStream, WritableStream, TransformStream, TextEncoderStream, TextDecoderStream, ByteLengthQueuingStrategy, CountQueuingStrategy, CompressionStream, DecompressionStream, WritableStreamDefaultWriter } = streams;
export { ReadableStreamBYOBReader, ReadableStreamDefaultReader };
const { IdentityTransformStream, FixedLengthStream, ...standard } = streams;
export default { ...standard, ReadableStreamBYOBReader, ReadableStreamDefaultReader };
