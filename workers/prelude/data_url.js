// Addresses that carry their data, by the standard's rules for `data:`.
import { atob, percentDecoded } from "thunderhead:text";

const TOKEN = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+";

// The media type in an address that carries its data, as the standard writes it. One that cannot be read is a plain text.
function mediaType(given) {
  const [essence, ...rest] = given.split(";");
  if (!new RegExp(`^${TOKEN}/${TOKEN}$`).test(essence.trim())) return "text/plain;charset=US-ASCII";
  const parameters = new Map();
  for (const one of rest) {
    const [, name, value] = new RegExp(`^[\\t ]*(${TOKEN})=(.+)$`).exec(one.trimEnd()) ?? [];
    if (name === undefined || parameters.has(name.toLowerCase())) continue;
    const text = value.startsWith('"') ? value.slice(1).replace(/"$/, "") : value;
    parameters.set(name.toLowerCase(), new RegExp(`^${TOKEN}$`).test(text) ? text : `"${text.replace(/["\\]/g, "\\$&")}"`);
  }
  return [essence.trim().toLowerCase(), ...[...parameters].map(([name, value]) => `${name}=${value}`)].join(";");
}

// The media type of such an address, and its bytes.
export function read(url) {
  const [, type, data] = /^data:([^,]*),([^]*)$/.exec(url.replace(/#[^]*$/, "")) ?? [];
  if (type === undefined) throw new TypeError(`Invalid data: URL: ${url}`);
  const isBase64 = /; *base64[\t\n\f\r ]*$/i.test(type);
  let bytes = percentDecoded(data);
  if (isBase64) {
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    try {
      bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    } catch {
      throw new TypeError("Invalid data: URL: what it carries is no base64.");
    }
  }
  const named = type.replace(isBase64 ? /; *base64[\t\n\f\r ]*$/i : /^$/, "").trim();
  return { type: mediaType(named.startsWith(";") ? `text/plain${named}` : named), bytes };
}
