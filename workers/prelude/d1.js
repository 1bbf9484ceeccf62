// D1 databases.
import natives from "thunderhead:natives";
import { ask } from "thunderhead:operation";
import { bufferOf, fromBody, toHex } from "thunderhead:text";

function realOf(number) {
  if (Number.isNaN(number)) return "NaN";
  return Number.isFinite(number) ? String(number) : number > 0 ? "inf" : "-inf";
}

function toSql(value) {
  if (value === null) return "null";
  switch (typeof value) {
    case "number":
      return { real: realOf(value) };
    case "boolean":
      return { real: value ? "1" : "0" };
    case "string":
      return { text: value };
  }
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return { blob: { hex: toHex(bufferOf(value)) } };
  if (Array.isArray(value)) return { blob: { hex: toHex(new Uint8Array(value).buffer) } };
  const wrong = `Type '${typeof value}' not supported for value '${String(value)}'`;
  throw new Error(`D1_TYPE_ERROR: ${wrong}`, { cause: new Error(wrong) });
}

function fromSql(value) {
  if (value === "null") return null;
  if ("integer" in value) return value.integer;
  if ("real" in value) return Number(value.real);
  if ("text" in value) return value.text;
  return [...new Uint8Array(fromBody(value.blob))];
}

const rowOf = (row) => Object.fromEntries(row.map(([name, value]) => [name, fromSql(value)]));

function resultOf({ meta, results }) {
  const told = { served_by: natives.local() ? "miniflare.db" : "thunderhead", duration: 0, size_after: 0, total_attempts: 1, timings: { sql_duration_ms: 0 }, ...meta };
  return { success: true, meta: told, results: results.map(rowOf) };
}

const asked = Symbol("asked");
const statement = Symbol("statement");

class D1PreparedStatement {
  #database;
  #sql;
  #bindings;
  constructor(database, sql, bindings = []) {
    this.#database = database;
    this.#sql = sql;
    this.#bindings = bindings;
  }
  get [statement]() {
    return { sql: this.#sql, bindings: this.#bindings };
  }
  bind(...values) {
    return new D1PreparedStatement(this.#database, this.#sql, values.map(toSql));
  }
  async all() {
    return resultOf((await this.#database[asked]({ all: this[statement] })).result);
  }
  async run() {
    return resultOf((await this.#database[asked]({ run: this[statement] })).result);
  }
  async first(column) {
    const answer = await this.#database[asked]({ first: { statement: this[statement], column: column ?? null } });
    if ("column" in answer) return fromSql(answer.column);
    return answer.row === null ? null : rowOf(answer.row);
  }
  async raw({ columnNames = false } = {}) {
    const { raw } = await this.#database[asked]({ raw: { statement: this[statement], columnNames: Boolean(columnNames) } });
    return raw.map((row) => row.map(fromSql));
  }
}

function constraintOf(given = "first-unconstrained") {
  if (given === "first-unconstrained") return "firstUnconstrained";
  return given === "first-primary" ? "firstPrimary" : { bookmark: given };
}

class D1DatabaseSession {
  #database;
  #session;
  constructor(database, session) {
    this.#database = database;
    this.#session = session;
  }
  async [asked](method) {
    const { answer, bookmark } = (await ask({ d1: { database: this.#database, method, session: this.#session } })).value.d1;
    if (this.#session && bookmark !== undefined) this.#session.bookmark = bookmark;
    return answer;
  }
  prepare(sql) {
    return new D1PreparedStatement(this, String(sql));
  }
  async batch(statements) {
    const all = Array.from(statements, (one) => one[statement]);
    return (await this[asked]({ batch: all })).batch.map(resultOf);
  }
  getBookmark() {
    return this.#session?.bookmark ?? null;
  }
}

export class D1Database {
  #name;
  #primary;
  constructor(name) {
    this.#name = name;
    this.#primary = new D1DatabaseSession(name);
  }
  prepare(sql) {
    return this.#primary.prepare(sql);
  }
  batch(statements) {
    return this.#primary.batch(statements);
  }
  async exec(sql) {
    return { count: (await this.#primary[asked]({ exec: String(sql) })).exec.count, duration: 0 };
  }
  withSession(constraint) {
    return new D1DatabaseSession(this.#name, { constraint: constraintOf(constraint) });
  }
  async query() {
    throw new Error("D1Database.query() is not simulated; prepare() is.");
  }
  async dump() {
    await this.#primary[asked]("dump");
  }
}
