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
export const constants = { Z_NO_FLUSH: 0, Z_SYNC_FLUSH: 2, Z_FINISH: 4, Z_DEFAULT_COMPRESSION: -1, Z_BEST_SPEED: 1, Z_BEST_COMPRESSION: 9 };
export default { gzipSync, gunzipSync, deflateSync, inflateSync, deflateRawSync, inflateRawSync, gzip, gunzip, deflate, inflate, deflateRaw, inflateRaw, createGzip, createGunzip, createDeflate, createInflate, createDeflateRaw, createInflateRaw, createUnzip, createBrotliCompress, createBrotliDecompress, brotliCompressSync, brotliDecompressSync, brotliCompress, brotliDecompress, unzipSync, unzip, constants };
