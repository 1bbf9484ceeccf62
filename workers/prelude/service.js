// Service bindings: another Worker, or an entrypoint of this one. A call is a request with the method `RPC`, whose
// path is the member and whose body has the arguments.
import { decodeResult, encodeCall } from "thunderhead:clone";
import { Request, exchange } from "thunderhead:http";
import { begin, parse, stringify } from "thunderhead:operation";
import { bindingFor, pathOf } from "thunderhead:rpc";
import { streamHeader } from "thunderhead:streamed";
import { bufferOf } from "thunderhead:text";
import natives from "thunderhead:natives";

// The header that names the entrypoint and its properties. It never reaches the program.
export const ENTRYPOINT = "thunderhead-entrypoint";

const headerOf = ({ entrypoint, props }, url) => [ENTRYPOINT, stringify({ entrypoint: entrypoint ?? null, props: props ?? {}, url })];

// How stubs are called that are kept elsewhere, by the kind of place.
const homes = {};
export const routeHome = (kind, route) => void (homes[kind] = route);

// The route for stubs among the arguments of a call.
export function routeOf({ of, home }) {
  const { kind, ...place } = home ? parse(home) : {};
  if (!homes[kind]) return () => Promise.reject(new Error("A function of a queue consumer, a cron trigger or a workflow cannot be called from elsewhere in the simulation."));
  return homes[kind](place, of);
}

async function ask(to, path, args) {
  let text = args === undefined ? "" : encodeCall(args);
  if (typeof text !== "string") text = await text;
  const asked = { service: to.service, url: `http://${to.service}/${encodeURIComponent(path)}`, method: "RPC", headers: [headerOf(to), ...streamHeader(text)] };
  const { bytes } = await begin("fetch", asked, natives.encode(text));
  const route = ({ of }) => (names, given) => ask(to, pathOf(names, of), given);
  return decodeResult(bytes?.byteLength ? natives.decode(bytes, false) : "", route);
}

routeHome("worker", ({ name }, number) => (names, args) => ask({ service: name }, pathOf(names, number), args));

const fetchFrom = (to, input, init) =>
  exchange(new Request(input, init), ({ url, headers }) => ({ service: to.service, headers: [...headers, headerOf(to, url)] }), { streams: true });

const notSimulated = (what) => () => {
  throw new Error(`${what} is not simulated.`);
};

function timeOf({ scheduledTime } = {}) {
  if (scheduledTime === undefined) return null;
  const time = Number(scheduledTime);
  if (!Number.isFinite(time)) throw new TypeError("The value cannot be converted because it is not a valid Date.");
  return time;
}

// `to` has the Worker, and the name and the properties of an entrypoint if it is not the default one.
export function serviceOf(to) {
  const own = {
    fetch: (input, init) => fetchFrom(to, input, init),
    scheduled: async (options) => ask(to, "scheduled", [{ cron: String(options?.cron ?? ""), scheduledTime: timeOf(options) }]),
    queue: async (name, messages) => ask(to, "queue", [String(name), Array.from(messages, messageOf)]),
    connect: notSimulated("connect() of a service binding"),
  };
  return bindingFor(own, (names, args) => ask(to, pathOf(names), args));
}

function messageOf({ id, timestamp, body, serializedBody, attempts }) {
  return { id, timestamp: Number(timestamp), attempts, body: serializedBody === undefined ? body : bufferOf(serializedBody) };
}

// The entrypoint that a request is for, and the request as the program sees it.
export function received(headers) {
  const at = headers.findIndex((pair) => pair[0] === ENTRYPOINT);
  if (at < 0) return { headers, entrypoint: null, props: {}, inside: false };
  const told = parse(headers[at][1]);
  return { headers: headers.filter((pair, index) => index !== at), inside: true, ...told };
}

