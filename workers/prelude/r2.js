// R2 buckets.
import natives from "thunderhead:natives";
import { ask } from "thunderhead:operation";
import { Headers, Response, bytesOf } from "thunderhead:http";
import { ReadableStream, length } from "thunderhead:streams";
import { bufferOf, fromBody, toHex } from "thunderhead:text";

const METADATA = {
  contentType: "content-type",
  contentLanguage: "content-language",
  contentDisposition: "content-disposition",
  contentEncoding: "content-encoding",
  cacheControl: "cache-control",
};
const CHECKSUMS = ["md5", "sha1", "sha256", "sha384", "sha512"];

const dateOf = (time) => new Date(natives.epoch + time);

function metadataOf(stored) {
  const all = Object.fromEntries(Object.keys(METADATA).map((key) => [key, stored[key]]));
  return { ...all, cacheExpiry: stored.cacheExpiry === undefined ? undefined : new Date(stored.cacheExpiry) };
}

class Checksums {
  constructor(stored = {}) {
    for (const name of CHECKSUMS) this[name] = stored[name] ? hexBuffer(stored[name]) : undefined;
  }
  toJSON() {
    const known = CHECKSUMS.filter((name) => this[name]);
    return Object.fromEntries(known.map((name) => [name, toHex(this[name])]));
  }
}

// Sums are hexadecimal digits in JSON, or bytes.
function hexBuffer(value) {
  if (typeof value === "string" && /^([0-9a-f]{2})*$/.test(value)) return fromBody({ hex: value });
  return fromBody(value);
}

class R2Object {
  constructor(stored, range) {
    const { key, version, size, etag, uploaded, httpMetadata, customMetadata, storageClass = "" } = stored;
    Object.assign(this, { key, version, size, etag, httpEtag: `"${etag}"`, uploaded: dateOf(uploaded) });
    Object.assign(this, { checksums: new Checksums(stored.checksums), httpMetadata: metadataOf(httpMetadata ?? {}), customMetadata: customMetadata ?? {} });
    Object.assign(this, { range, storageClass, ssecKeyMd5: undefined });
  }
  writeHttpMetadata(headers) {
    for (const [key, name] of Object.entries(METADATA)) if (this.httpMetadata[key] !== undefined) headers.set(name, this.httpMetadata[key]);
    if (this.httpMetadata.cacheExpiry) headers.set("expires", this.httpMetadata.cacheExpiry.toUTCString());
  }
}

class R2ObjectBody extends R2Object {
  #response;
  constructor(stored, range, bytes) {
    super(stored, range);
    this.#response = new Response(bytes, { headers: { "content-type": this.httpMetadata.contentType ?? "" } });
  }
  get body() {
    return this.#response.body;
  }
  get bodyUsed() {
    return this.#response.bodyUsed;
  }
  arrayBuffer() {
    return this.#response.arrayBuffer();
  }
  bytes() {
    return this.#response.bytes();
  }
  text() {
    return this.#response.text();
  }
  json() {
    return this.#response.json();
  }
  blob() {
    return this.#response.blob();
  }
}

const isoDate = (value) => (value === undefined ? undefined : new Date(value).toISOString());

function etags(value) {
  if (value === undefined) return undefined;
  return (Array.isArray(value) ? value : [value]).map((etag) => (etag === "*" ? "any" : { strong: String(etag) }));
}

function condition(onlyIf) {
  if (onlyIf === undefined || onlyIf === null) return undefined;
  if (onlyIf instanceof Headers) return { headers: [...onlyIf] };
  return {
    etagMatches: etags(onlyIf.etagMatches),
    etagDoesNotMatch: etags(onlyIf.etagDoesNotMatch),
    uploadedBefore: isoDate(onlyIf.uploadedBefore),
    uploadedAfter: isoDate(onlyIf.uploadedAfter),
    secondsGranularity: Boolean(onlyIf.secondsGranularity),
  };
}

function httpMetadata(given) {
  if (given === undefined || given === null) return {};
  if (given instanceof Headers) return { headers: [...given] };
  const texts = Object.keys(METADATA).filter((key) => given[key] !== undefined).map((key) => [key, String(given[key])]);
  return { ...Object.fromEntries(texts), cacheExpiry: isoDate(given.cacheExpiry) };
}

const customMetadata = (given = {}) => Object.fromEntries(Object.entries(given ?? {}).map(([name, value]) => [name, String(value)]));

function rangeOf(range) {
  if (range === undefined || range === null) return undefined;
  if (range instanceof Headers) return range.get("range") === null ? undefined : { header: range.get("range") };
  return { bytes: { offset: range.offset ?? null, length: range.length ?? null, suffix: range.suffix ?? null } };
}

function checksums(options) {
  const given = CHECKSUMS.filter((name) => options[name] !== undefined);
  const value = (sum) => (typeof sum === "string" ? { hex: sum } : { bytes: { hex: toHex(bufferOf(sum)) } });
  return given.map((algorithm) => ({ algorithm, value: value(options[algorithm]) }));
}

async function payload(value, method) {
  if (value === undefined) throw new TypeError(`Failed to execute '${method}' on 'R2Bucket': parameter 2 is not of type 'ReadableStream or ArrayBuffer or string or Blob'.`);
  if (value instanceof ReadableStream && value[length] === undefined) throw new TypeError("Provided readable stream must have a known length (request/response body or readable half of FixedLengthStream)");
  return bytesOf(value);
}

const stored = (reply) => (reply.stored ? new R2Object(reply.stored) : null);

export class R2Bucket {
  #bucket;
  constructor(bucket) {
    this.#bucket = bucket;
  }
  async #ask(op, fields, bytes) {
    const { value, bytes: body } = await ask({ r2: { op, bucket: this.#bucket, ...fields } }, bytes);
    return { reply: value.r2, body };
  }
  async head(key) {
    const { reply } = await this.#ask("head", { key: String(key) });
    return reply.object ? new R2Object(reply.object) : null;
  }
  async get(key, options = {}) {
    const asked = { onlyIf: condition(options?.onlyIf), range: rangeOf(options?.range) };
    const { reply, body } = await this.#ask("get", { key: String(key), options: asked });
    if (reply.objectBody) {
      const { object, range } = reply.objectBody;
      return new R2ObjectBody(object, { offset: range.offset, length: range.length, suffix: undefined }, body);
    }
    const object = reply.object ?? reply.preconditionFailed;
    return object ? new R2Object(object) : null;
  }
  async put(key, value, options = {}) {
    const bytes = await payload(value, "put");
    const asked = {
      onlyIf: condition(options?.onlyIf),
      httpMetadata: httpMetadata(options?.httpMetadata),
      customMetadata: customMetadata(options?.customMetadata),
      storageClass: ["Standard", "InfrequentAccess"].includes(options?.storageClass) ? options.storageClass : undefined,
      checksums: checksums(options ?? {}),
    };
    const { reply } = await this.#ask("put", { key: String(key), body: "", options: asked }, bytes);
    return stored(reply);
  }
  async delete(keys) {
    await this.#ask("delete", { keys: (Array.isArray(keys) ? keys : [keys]).map(String) });
  }
  async list(options = {}) {
    const { limit, prefix, cursor, delimiter, startAfter, include } = options ?? {};
    const whole = limit === undefined ? undefined : Math.max(0, Math.trunc(limit));
    const asked = { limit: whole, prefix, cursor: cursor || undefined, delimiter, startAfter, include: include ?? [] };
    const { objects, truncated, cursor: next, delimitedPrefixes } = (await this.#ask("list", { options: asked })).reply.listing;
    return { objects: objects.map((object) => new R2Object(object)), truncated, ...(truncated ? { cursor: next } : {}), delimitedPrefixes };
  }
  async createMultipartUpload(key, options = {}) {
    const asked = { httpMetadata: httpMetadata(options?.httpMetadata), customMetadata: customMetadata(options?.customMetadata), storageClass: options?.storageClass };
    const { reply } = await this.#ask("createMultipartUpload", { key: String(key), options: asked });
    return this.resumeMultipartUpload(reply.multipartUpload.key, reply.multipartUpload.uploadId);
  }
  resumeMultipartUpload(key, uploadId) {
    return new R2MultipartUpload((op, fields, bytes) => this.#ask(op, fields, bytes), String(key), String(uploadId));
  }
}

class R2MultipartUpload {
  #ask;
  constructor(asks, key, uploadId) {
    this.#ask = (op, fields, bytes) => asks(op, { key, uploadId, ...fields }, bytes);
    Object.assign(this, { uploadId, key });
  }
  async uploadPart(partNumber, value) {
    const bytes = await payload(value, "uploadPart");
    return (await this.#ask("uploadPart", { partNumber, body: "" }, bytes)).reply.uploadedPart;
  }
  async complete(parts) {
    const named = parts.map(({ partNumber, etag }) => ({ partNumber, etag }));
    return stored((await this.#ask("completeMultipartUpload", { parts: named })).reply);
  }
  async abort() {
    await this.#ask("abortMultipartUpload", {});
  }
}
