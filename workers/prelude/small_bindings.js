// Bindings that do what the local runtime does, without a service.
import { exchange, Request, Response } from "thunderhead:http";
import natives from "thunderhead:natives";
import { ReadableStream } from "thunderhead:readable_stream";

// Data points are taken and go nowhere that a Worker could read.
export class AnalyticsEngineDataset {
  writeDataPoint() {}
}

// Counts the calls of a key in windows of time. Every isolate counts for itself, as every location does on the platform.
export class RateLimit {
  #limit;
  #period;
  #windows = new Map();
  constructor(limit, period) {
    this.#limit = limit;
    this.#period = period * 1000;
  }
  async limit({ key }) {
    const window = Math.floor(natives.now() / this.#period);
    const known = this.#windows.get(String(key));
    const count = known?.window === window ? known.count + 1 : 1;
    this.#windows.set(String(key), { window, count });
    return { success: count <= this.#limit };
  }
}

// The host outside that takes mail, which `storm.http` and `storm.ts` can describe; `MAIL` in Rust is the same.
const MAIL = "send-email";

// Sends a message, which may get lost or be refused in a storm like any request that leads outside.
export class SendEmail {
  #name;
  constructor(name) {
    this.#name = name;
  }
  async send(message) {
    const { from, to, raw, ...rest } = message ?? {};
    if (from === undefined || to === undefined) throw new TypeError("Missing field \"from\" or \"to\" of the message.");
    const text = raw instanceof ReadableStream ? await new Response(raw).text() : raw;
    const body = JSON.stringify({ from, to, ...(raw === undefined ? rest : { raw: text }) });
    const request = new Request(`https://${MAIL}/${this.#name}`, { method: "POST", body, headers: { "content-type": "application/json" } });
    const response = await exchange(request, ({ headers }) => ({ headers: [...headers] }));
    if (!response.ok) throw new Error(`The message could not be sent: ${response.status}.`);
    return { messageId: `<${natives.unique()}@${MAIL}>` };
  }
}
