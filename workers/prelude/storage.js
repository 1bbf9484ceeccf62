// Durable Objects from inside: the state and the storage of one.
import natives from "thunderhead:natives";
import { decode, encode } from "thunderhead:clone";
import { begin, keep, release } from "thunderhead:operation";
import { bufferOf } from "thunderhead:text";

class SqlStorageCursor {
  #rows;
  #at = 0;
  constructor({ columns, rows, rowsRead, rowsWritten }) {
    this.#rows = rows;
    Object.assign(this, { columnNames: columns, rowsRead, rowsWritten });
  }
  next() {
    if (this.#at >= this.#rows.length) return { done: true, value: undefined };
    const row = this.#rows[this.#at++];
    return { done: false, value: Object.fromEntries(this.columnNames.map((name, at) => [name, row[at]])) };
  }
  [Symbol.iterator]() {
    return this;
  }
  toArray() {
    return [...this];
  }
  one() {
    const left = this.#rows.length - this.#at;
    if (left !== 1) throw new Error(`Expected exactly one result from SQL query, but got ${left ? "multiple results" : "no results"}.`);
    return this.next().value;
  }
  *raw() {
    while (this.#at < this.#rows.length) yield this.#rows[this.#at++];
  }
}

const bound = (value) => (ArrayBuffer.isView(value) ? bufferOf(value) : typeof value === "boolean" ? Number(value) : value);

class SqlStorage {
  #object;
  constructor(object) {
    this.#object = object;
  }
  get databaseSize() {
    return this.exec("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()").raw().next().value[0];
  }
  exec(query, ...bindings) {
    return new SqlStorageCursor(natives.sql(this.#object, String(query), bindings.map(bound)));
  }
}

const MAX_KEYS = 128;

function checkKey(key) {
  if (typeof key !== "string") throw new TypeError("Keys must be of type string.");
  return key;
}

class SyncKvStorage {
  #object;
  constructor(object) {
    this.#object = object;
  }
  get(key) {
    return decode(natives.get(this.#object, checkKey(key)));
  }
  put(key, value) {
    natives.put(this.#object, checkKey(key), encode(value));
  }
  delete(key) {
    return natives.delete(this.#object, checkKey(key));
  }
  *list(options = {}) {
    for (const [key, value] of natives.list(this.#object, options)) yield [key, decode(value)];
  }
}

class DurableObjectStorage {
  #object;
  constructor(object) {
    this.#object = object;
    this.sql = new SqlStorage(object);
    this.kv = new SyncKvStorage(object);
  }
  async get(key) {
    if (!Array.isArray(key)) return this.kv.get(key);
    if (key.length > MAX_KEYS) throw new RangeError(`Maximum number of keys is ${MAX_KEYS}.`);
    const found = [...key].sort().map((one) => [one, natives.get(this.#object, checkKey(one))]);
    return new Map(found.filter(([, text]) => text !== undefined && text !== null).map(([one, text]) => [one, decode(text)]));
  }
  async put(key, value) {
    if (typeof key === "object" && key !== null) {
      const pairs = Object.entries(key);
      if (pairs.length > MAX_KEYS) throw new RangeError(`Maximum number of pairs is ${MAX_KEYS}.`);
      for (const [one, part] of pairs) this.kv.put(one, part);
      return;
    }
    if (value === undefined) throw new TypeError("put() called with undefined value.");
    this.kv.put(key, value);
  }
  async delete(key) {
    if (!Array.isArray(key)) return this.kv.delete(key);
    if (key.length > MAX_KEYS) throw new RangeError(`Maximum number of keys is ${MAX_KEYS}.`);
    return key.filter((one) => this.kv.delete(one)).length;
  }
  async list(options) {
    return new Map(this.kv.list(options));
  }
  async deleteAll() {
    natives.deleteAll(this.#object);
  }
  async sync() {}
  async getAlarm() {
    return natives.getAlarm(this.#object) ?? null;
  }
  async setAlarm(time) {
    const at = Number(time);
    if (!Number.isFinite(at)) throw new TypeError("The value cannot be converted because it is not a valid Date.");
    if (at <= 0) throw new TypeError("setAlarm() cannot be called with an alarm time <= 0");
    natives.setAlarm(this.#object, at);
  }
  async deleteAlarm() {
    natives.deleteAlarm(this.#object);
  }
  transactionSync(work) {
    return natives.transactionSync(this.#object, work);
  }
  async transaction(work) {
    const undo = Symbol("rollback");
    let rolledBack = false;
    const transaction = Object.create(this, { rollback: { value: () => void (rolledBack = true) } });
    for (const name of ["get", "put", "delete", "list", "getAlarm", "setAlarm", "deleteAlarm"]) transaction[name] = this[name].bind(this);
    let value;
    try {
      await within("transaction", this.#object, async () => {
        value = await work(transaction);
        if (rolledBack) throw undo;
      });
    } catch (error) {
      if (error !== undo) throw error;
    }
    return value;
  }
}

// Does work that the host begins when the gate of the object is closed. What it throws is thrown here as it is.
async function within(kind, object, work) {
  let failed;
  const callback = keep(async () => {
    try {
      await work();
    } catch (error) {
      failed = { error };
      throw error;
    }
  });
  try {
    await begin(kind, { object, callback });
  } catch (error) {
    throw failed ? failed.error : error;
  } finally {
    release(callback);
  }
}

const notSimulated = (what) => () => {
  throw new Error(`${what} is not simulated yet.`);
};

export class DurableObjectState {
  #object;
  constructor(object, id, waitUntil) {
    this.#object = object;
    this.id = id;
    this.storage = new DurableObjectStorage(object);
    this.props = {};
    this.waitUntil = waitUntil;
  }
  blockConcurrencyWhile(work) {
    let value;
    // The gate closes in this call, and not in a microtask after it.
    const done = within("block", this.#object, async () => {
      value = await work();
    });
    return done.then(() => value);
  }
  abort(reason) {
    natives.abort(this.#object, reason === undefined ? undefined : String(reason));
    throw new Error(reason ?? "Application called abort() to reset Durable Object.");
  }
  getWebSockets() {
    return [];
  }
  setWebSocketAutoResponse() {}
  acceptWebSocket = notSimulated("acceptWebSocket()");
}
