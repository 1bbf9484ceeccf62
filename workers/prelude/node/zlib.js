// `node:zlib`: whole buffers, at once or with a callback.
import natives from "thunderhead:natives";
import { Buffer } from "node:buffer";
import { bufferOf } from "thunderhead:text";

const bytesOf = (data) => bufferOf(typeof data === "string" ? Buffer.from(data) : data);
const packing = (format) => (data) => Buffer.from(natives.compress(format, bytesOf(data)));
const unpacking = (format) => (data) => Buffer.from(natives.decompress(format, bytesOf(data)));
const later = (work) => (data, ...rest) => {
  const done = rest.pop();
  let result;
  try {
    result = [null, work(data)];
  } catch (error) {
    result = [error];
  }
  queueMicrotask(() => done(...result));
};

export const gzipSync = packing("gzip");
export const gunzipSync = unpacking("gzip");
export const deflateSync = packing("deflate");
export const inflateSync = unpacking("deflate");
export const deflateRawSync = packing("deflate-raw");
export const inflateRawSync = unpacking("deflate-raw");
export const gzip = later(gzipSync);
export const gunzip = later(gunzipSync);
export const deflate = later(deflateSync);
export const inflate = later(inflateSync);
export const deflateRaw = later(deflateRawSync);
export const inflateRaw = later(inflateRawSync);
const missing = (name) => () => {
  throw new Error(`node:zlib.${name} is not simulated; gzip, deflate and their opposites are, of whole buffers.`);
};
export const [createGzip, createGunzip, createDeflate, createInflate, createDeflateRaw, createInflateRaw, createUnzip, createBrotliCompress, createBrotliDecompress, brotliCompressSync, brotliDecompressSync, brotliCompress, brotliDecompress, unzipSync, unzip] =
  ["createGzip", "createGunzip", "createDeflate", "createInflate", "createDeflateRaw", "createInflateRaw", "createUnzip", "createBrotliCompress", "createBrotliDecompress", "brotliCompressSync", "brotliDecompressSync", "brotliCompress", "brotliDecompress", "unzipSync", "unzip"].map(missing);
// The numbers are in `absent.txt`, with the names of what is not simulated.
export const constants = {};
export const codes = {};
export function crc32(data, start = 0) {
  let crc = ~start;
  for (const byte of new Uint8Array(bytesOf(data))) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
export default { gzipSync, gunzipSync, deflateSync, inflateSync, deflateRawSync, inflateRawSync, gzip, gunzip, deflate, inflate, deflateRaw, inflateRaw, createGzip, createGunzip, createDeflate, createInflate, createDeflateRaw, createInflateRaw, createUnzip, createBrotliCompress, createBrotliDecompress, brotliCompressSync, brotliDecompressSync, brotliCompress, brotliDecompress, unzipSync, unzip, constants, codes, crc32 };
