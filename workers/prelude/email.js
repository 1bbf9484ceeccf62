// Mail: what a binding sends, and what comes to the handler `email`.
import { Headers, Request, Response, exchange } from "thunderhead:http";
import natives from "thunderhead:natives";
import { showMethods } from "thunderhead:operation";
import { ReadableStream } from "thunderhead:readable_stream";

// The host outside that takes mail, which `storm.http` and `storm.ts` can describe; `MAIL` in Rust is the same.
const MAIL = "send-email";

// Sends a message, which may get lost or be refused in a storm like any request that leads outside.
async function sent(name, message) {
  const { from, to, raw, ...rest } = message ?? {};
  if (from === undefined || to === undefined) throw new TypeError("Missing field \"from\" or \"to\" of the message.");
  const text = raw instanceof ReadableStream ? await new Response(raw).text() : raw;
  const body = JSON.stringify({ from, to, ...(raw === undefined ? rest : { raw: text }) });
  const request = new Request(`https://${MAIL}/${name}`, { method: "POST", body, headers: { "content-type": "application/json" } });
  const response = await exchange(request, ({ headers }) => ({ headers: [...headers] }));
  if (!response.ok) throw new Error(`The message could not be sent: ${response.status}.`);
  return { messageId: `<${natives.unique()}@${MAIL}>` };
}

export class SendEmail {
  #name;
  constructor(name) {
    this.#name = name;
  }
  async send(message) {
    return sent(this.#name, message);
  }
}

// Why a message was rejected, or null.
export let rejectionOf;

// A message that has come. Its content is a stream, which can be read once; to pass it on does not read it.
export class ForwardableEmailMessage {
  #bytes;
  #rejected = null;
  static {
    rejectionOf = (message) => message.#rejected;
  }
  constructor(from, to, headers, bytes) {
    this.#bytes = bytes;
    const { body: raw } = new Response(bytes);
    Object.assign(this, { from, to, headers: new Headers(headers), raw, rawSize: bytes.byteLength, canBeForwarded: true });
  }
  setReject(reason) {
    this.#rejected = String(reason);
  }
  async forward(to, headers) {
    const added = [...new Headers(headers)].map(([name, value]) => `${name}: ${value}\r\n`).join("");
    return sent("forward", { from: this.from, to, raw: added + natives.decode(this.#bytes, false) });
  }
  async reply(message) {
    return sent("reply", message);
  }
}
showMethods(ForwardableEmailMessage, "setReject", "forward", "reply");
