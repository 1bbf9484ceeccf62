// `storm.ts`: a workload, promises and hosts outside, which the host asks one question after the other. No clock and no
// chance is there; what they return depends on what they are given.
import { Response, Request } from "thunderhead:http";
import { parse, stringify } from "thunderhead:operation";

const KEYS = ["workload", "outside", "ignore", "always", "eventually", "sometimes"];
const PROMISES = ["always", "eventually", "sometimes"];
const MOST = 64;

class Rng {
  #state;
  constructor(seed) {
    this.#state = seed >>> 0;
  }
  // A Weyl sequence whose numbers are mixed.
  #next() {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
    return (mixed ^ (mixed >>> 15)) >>> 0;
  }
  int(least, most) {
    if (!Number.isInteger(least) || !Number.isInteger(most) || most < least) throw new RangeError(`rng.int(${least}, ${most}): there is no such number`);
    return least + (this.#next() % (most - least + 1));
  }
  pick(list) {
    if (!list?.length) throw new RangeError("rng.pick: the list is empty");
    return list[this.int(0, list.length - 1)];
  }
  chance(percent = 50) {
    return this.int(1, 100) <= percent;
  }
}

const UNITS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };
function milliseconds(time) {
  const [, number, unit] = /^(\d+)\s*(ms|s|m|h)$/.exec(time) ?? [];
  const ms = number === undefined ? Number(time) : Number(number) * UNITS[unit];
  if (!Number.isInteger(ms) || ms < 0) throw new TypeError(`\`${time}\` is no time; write a number of milliseconds, or "3s"`);
  return ms;
}

// Writes down what a client sends. Nothing is sent yet, so there is nothing to wait for.
class Client {
  #sent;
  #now = 0;
  constructor(sent) {
    this.#sent = sent;
  }
  #send(sent) {
    if (this.#sent.length >= MOST) throw new RangeError(`a workload has at most ${MOST} requests`);
    this.#sent.push({ at: this.#now, ...sent });
  }
  request(method, path, { headers = {}, body, json } = {}) {
    if (typeof path !== "string" || path[0] !== "/") throw new TypeError(`\`${path}\` is no path; it begins with \`/\``);
    const pairs = Object.entries(headers).map(([name, value]) => [name, String(value)]);
    if (json !== undefined) {
      body = JSON.stringify(json);
      if (!pairs.some(([name]) => name.toLowerCase() === "content-type")) pairs.push(["content-type", "application/json"]);
    }
    this.#send({ method, path, headers: pairs, body: body === undefined ? "" : String(body) });
  }
  sleep(time) {
    this.#now += milliseconds(time);
  }
  scheduled(cron) {
    this.#send({ method: "SCHEDULED", path: String(cron), headers: [], body: "" });
  }
  email({ from, to, headers = {}, text = "" }) {
    const wrong = [from, to].find((address) => !/^[^@\s/]+@[^@\s/]+$/.test(address));
    if (wrong !== undefined) throw new TypeError(`\`${wrong}\` is no address of mail`);
    // What every message has, also when the workload does not say it.
    const usual = new Map([["from", from], ["to", to], ["message-id", `<${this.#sent.length + 1}@${from.split("@")[1]}>`]]);
    const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]);
    const pairs = [...new Map([...usual, ...given])];
    this.#send({ method: "EMAIL", path: `/${from}/${to}`, headers: pairs, body: String(text) });
  }
  queue(name, message) {
    if (JSON.stringify(message) === undefined) throw new TypeError("a message is a text, or a value that JSON has");
    const plain = typeof message === "string";
    const headers = plain ? [["content-type", "text/plain"]] : [];
    this.#send({ method: "QUEUE", path: `/${name}`, headers, body: plain ? message : JSON.stringify(message) });
  }
  // Long after the storm, when everything is at rest.
  afterwards() {
    this.#now += 2 * UNITS.h;
  }
}
for (const method of ["get", "head", "post", "put", "patch", "delete"]) {
  Client.prototype[method] = function (path, body, options = {}) {
    const plain = typeof body === "string" || body === undefined || body === null;
    this.request(method.toUpperCase(), path, { ...options, ...(plain ? { body: body ?? undefined } : { json: body }) });
  };
}

// What a promise sees. Its functions can be taken out of it.
function viewOf({ rows, objects, values, requests, ...rest }) {
  return {
    ...rest,
    requests: requests.map((one) => ({ ...one, json: () => JSON.parse(one.answer) })),
    rows: (table, owner) => rows.filter((one) => one.table === table && (owner === undefined || one.owner === owner)).map((one) => one.row),
    objects: (bucket) => objects.filter((one) => one.bucket === bucket).map(({ key, text }) => ({ key, text, json: () => JSON.parse(text) })),
    values: (namespace) => Object.fromEntries(values.filter((one) => one.namespace === namespace).map(({ key, value }) => [key, value])),
  };
}

// The first moment at which a promise does not hold, and what is wrong then.
async function broken(promise, moments) {
  for (let at = 0; at < moments.length; at++) {
    const said = await promise(viewOf(moments[at]));
    if (said === false) return { at, message: "it does not hold" };
    if (typeof said === "string") return { at, message: said };
  }
  return null;
}

const hostOf = (outside, host) => outside?.[host] ?? outside?.["*"];

const questions = {
  describe(storm) {
    if (typeof storm !== "object" || storm === null) throw new TypeError("the default export is no object; write `export default storm({ … })`");
    const unknown = Object.keys(storm).find((key) => !KEYS.includes(key));
    if (unknown !== undefined) throw new TypeError(`there is no \`${unknown}\`; there are ${KEYS.join(", ")}`);
    const names = (key) => Object.keys(storm[key] ?? {});
    for (const key of [...PROMISES, "outside"]) {
      const wrong = names(key).find((name) => typeof storm[key][name] !== "function");
      if (wrong !== undefined) throw new TypeError(`\`${key}\`: "${wrong}" is no function`);
    }
    const promises = PROMISES.flatMap((kind) => names(kind).map((name) => ({ kind, name })));
    return { workload: typeof storm.workload === "function", promises, outside: names("outside"), ignore: (storm.ignore ?? []).map(String) };
  },
  async workload(storm, { seed }) {
    const sent = [];
    await storm.workload({ rng: new Rng(seed), client: new Client(sent) });
    if (!sent.length) throw new Error("the workload sends nothing");
    return sent;
  },
  judge: (storm, { kind, name, moments }) => broken(storm[kind][name], moments),
  seen: async (storm, { name, view }) => Boolean(await storm.sometimes[name](viewOf(view))),
  async outside(storm, { url, method, headers, body, mood }) {
    const host = new URL(url).host;
    const request = new Request(url, { method, headers, body: method === "GET" || method === "HEAD" ? null : body });
    const answer = await hostOf(storm.outside, host)(request, mood);
    if (!(answer instanceof Response)) throw new TypeError(`the host "${host}" in \`outside\` returned no Response`);
    return { status: answer.status, headers: [...answer.headers], body: await answer.text() };
  },
};

// Begins to answer; `holder` has the answer when every microtask has run.
export function ask(program, kind, json) {
  const holder = {};
  const answer = async () => stringify((await questions[kind](program.default, parse(json))) ?? null);
  answer().then(
    (text) => void (holder.answer = text),
    (error) => Object.assign(holder, { error: error instanceof Error ? `${error.name}: ${error.message}` : String(error), stack: String(error?.stack ?? "") }),
  );
  return holder;
}
