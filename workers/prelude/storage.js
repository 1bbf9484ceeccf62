// Durable Objects from inside: the state and the storage of one.
import natives from "thunderhead:natives";
import { decode, encode } from "thunderhead:clone";
import { begin, keep, release } from "thunderhead:operation";
import { bufferOf } from "thunderhead:text";
import { Hibernation } from "thunderhead:web_socket";

class SqlStorageCursor {
  #rows;
  #read;
  #at = 0;
  constructor({ columns, rows, rowsRead, rowsWritten }) {
    this.#rows = rows;
    this.#read = rowsRead;
    this.columnNames = columns;
    this.rowsWritten = rowsWritten;
  }
  // The cursor is one row ahead of its reader.
  get rowsRead() {
    return Math.max(0, this.#read - Math.max(0, this.#rows.length - this.#at - 1));
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
    const rows = [];
    while (this.#at < this.#rows.length) rows.push(this.next().value);
    return rows;
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

const bound = (value) => (ArrayBuffer.isView(value) ? bufferOf(value) : typeof value === "boolean" ? String(value) : value);

const PAGE = 4096;

class SqlStorage {
  #object;
  constructor(object) {
    this.#object = object;
  }
  // A page for each table and index: how many pages the rows take is not known here.
  get databaseSize() {
    return PAGE * (2 + this.exec("SELECT count(*) FROM sqlite_master").raw().next().value[0]);
  }
  exec(query, ...bindings) {
    return new SqlStorageCursor(natives.sql(this.#object, String(query), bindings.map(bound)));
  }
}

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

const NO_SQL =
  "SQL is not enabled for this Durable Object class. To enable it, change `new_classes` to `new_sqlite_classes` within the 'migrations' field in your wrangler.jsonc or wrangler.toml file. If using workerd directly,set `enableSql = true` in your workerd config for the class. Note that this change cannot be made after the class is already deployed to production.";

const noSql = new Proxy(
  {},
  {
    get: () => {
      throw new Error(NO_SQL);
    },
  },
);

const NO_RECOVERY = "This Durable Object's storage back-end does not implement point-in-time recovery.";

class DurableObjectStorage {
  #object;
  #hasAlarm;
  #transactions = 0;
  constructor(object, { sqlite, hasAlarm }) {
    this.#object = object;
    this.#hasAlarm = hasAlarm;
    this.sql = sqlite ? new SqlStorage(object) : noSql;
    this.kv = new SyncKvStorage(object);
  }
  async get(key) {
    if (!Array.isArray(key)) return this.kv.get(key);
    const found = [...key].sort().map((one) => [one, natives.get(this.#object, checkKey(one))]);
    return new Map(found.filter(([, text]) => text !== undefined && text !== null).map(([one, text]) => [one, decode(text)]));
  }
  async put(key, value) {
    if (typeof key === "object" && key !== null) {
      const pairs = Object.entries(key);
      for (const [one, part] of pairs) if (part !== undefined) this.kv.put(one, part);
      return;
    }
    if (value === undefined) throw new TypeError("put() called with undefined value.");
    this.kv.put(key, value);
  }
  async delete(key) {
    if (!Array.isArray(key)) return this.kv.delete(key);
    return key.filter((one) => this.kv.delete(one)).length;
  }
  async list(options) {
    return new Map(this.kv.list(options));
  }
  async deleteAll() {
    if (this.#transactions) throw new Error("Cannot call deleteAll() within a transaction");
    natives.deleteAll(this.#object);
  }
  // The writes so far are committed before it resolves, so the turn ends here.
  async sync() {
    await begin("turn", null);
  }
  async getAlarm() {
    return natives.getAlarm(this.#object) ?? null;
  }
  async setAlarm(time) {
    const at = Number(time);
    if (typeof time === "string" && Number.isNaN(at)) throw new TypeError("Failed to execute 'setAlarm' on 'DurableObjectStorage': parameter 1 is not of type 'date'.");
    if (!Number.isFinite(at)) throw new TypeError("The value cannot be converted because it is not a valid Date.");
    if (at <= 0) throw new TypeError("setAlarm() cannot be called with an alarm time <= 0");
    if (!this.#hasAlarm) throw new TypeError("Your Durable Object class must have an alarm() handler in order to call setAlarm()");
    natives.setAlarm(this.#object, at);
  }
  async deleteAlarm() {
    natives.deleteAlarm(this.#object);
  }
  async getCurrentBookmark() {
    return "00000000-00000000-00000000-00000000000000000000000000000000";
  }
  async getBookmarkForTime() {
    throw new Error(NO_RECOVERY);
  }
  async onNextSessionRestoreBookmark() {
    throw new Error(NO_RECOVERY);
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
        this.#transactions++;
        try {
          value = await work(transaction);
        } finally {
          this.#transactions--;
        }
        if (rolledBack) throw undo;
      });
    } catch (error) {
      if (error !== undo) throw error;
    }
    return value;
  }
}

// The end of what each invocation has closed the gate for last: such work is done one after the other.
const ends = new Map();

// Does work that the host begins when the gate of the object is closed. What it throws is thrown here as it is. Who
// waits for it goes on before the gate opens, and so before any other event.
function within(kind, object, work) {
  const key = `${object} ${natives.invocation()}`;
  const before = ends.get(key);
  let end;
  const ended = new Promise((resolve) => (end = resolve));
  ends.set(key, ended);
  const begun = () =>
    new Promise((resolve, reject) => {
      let failed;
      const callback = keep(async () => {
        try {
          resolve(await work());
        } catch (error) {
          failed = { error };
          throw error;
        }
      });
      const done = begin(kind, { object, callback }).catch((error) => reject(failed ? failed.error : error));
      done.finally(() => {
        release(callback);
        if (ends.get(key) === ended) ends.delete(key);
        end();
      });
    });
  return before ? before.then(begun) : begun();
}

export class DurableObjectState {
  #object;
  #sockets;
  constructor(object, id, options) {
    this.#object = object;
    this.#sockets = new Hibernation(object);
    this.id = id;
    this.storage = new DurableObjectStorage(object, options);
    this.props = {};
    this.exports = options.exports;
  }
  waitUntil() {}
  blockConcurrencyWhile(work) {
    return within("block", this.#object, work);
  }
  abort(reason) {
    natives.abort(this.#object, reason === undefined ? undefined : String(reason));
    throw new Error(reason ?? "Application called abort() to reset Durable Object.");
  }
  acceptWebSocket(socket, tags = []) {
    this.#sockets.accept(socket, tags);
  }
  getWebSockets(tag) {
    return this.#sockets.all(tag);
  }
  getTags(socket) {
    return this.#sockets.tagsOf(socket);
  }
  setWebSocketAutoResponse(pair) {
    this.#sockets.answerWith(pair);
  }
  getWebSocketAutoResponse() {
    return this.#sockets.answersWith;
  }
  getWebSocketAutoResponseTimestamp(socket) {
    return this.#sockets.answeredAt(socket);
  }
  setHibernatableWebSocketEventTimeout(ms) {
    this.#sockets.timeout = ms;
  }
  getHibernatableWebSocketEventTimeout() {
    return this.#sockets.timeout;
  }
}
