// Forms as `multipart/form-data`, in both directions.
import natives from "thunderhead:natives";
import { concat } from "thunderhead:text";

export const BOUNDARY = "----thunderhead-form-boundary";

const quoted = (text) => text.replaceAll("\n", "%0A").replaceAll("\r", "%0D").replaceAll('"', "%22");

// The bytes of a form; `bytesOf` gives those of a file.
export function write(fields, bytesOf) {
  const parts = [];
  for (const [name, value] of fields) {
    const isText = typeof value === "string";
    const head = isText ? "" : `; filename="${quoted(value.name)}"\r\nContent-Type: ${value.type || "application/octet-stream"}`;
    parts.push(natives.encode(`--${BOUNDARY}\r\nContent-Disposition: form-data; name="${quoted(name)}"${head}\r\n\r\n`));
    parts.push(isText ? natives.encode(value) : bytesOf(value), natives.encode("\r\n"));
  }
  return concat([...parts, natives.encode(`--${BOUNDARY}--\r\n`)]);
}

function find(bytes, sought, from) {
  outer: for (let at = from; at + sought.length <= bytes.length; at++) {
    for (let offset = 0; offset < sought.length; offset++) if (bytes[at + offset] !== sought[offset]) continue outer;
    return at;
  }
  return -1;
}

// The parts of a form: names, file names, types and bytes.
export function read(buffer, type) {
  const boundary = /boundary="?([^";]+)"?/i.exec(type)?.[1];
  if (boundary === undefined) throw new TypeError("No boundary in the content type of the form.");
  const bytes = new Uint8Array(buffer);
  const mark = new Uint8Array(natives.encode(`--${boundary}`));
  const parts = [];
  let at = find(bytes, mark, 0);
  while (at >= 0) {
    const from = at + mark.length;
    const next = find(bytes, mark, from);
    if (next < 0) break;
    const blank = find(bytes, [13, 10, 13, 10], from);
    const head = natives.decode(bytes.slice(from, blank).buffer, false);
    const field = (name) => new RegExp(`[; ]${name}="((?:[^"\\\\]|\\\\.)*)"`, "i").exec(head)?.[1];
    const unquote = (text) => text?.replaceAll("%22", '"').replaceAll("%0D", "\r").replaceAll("%0A", "\n");
    const [, contentType] = /content-type:\s*([^\r\n]+)/i.exec(head) ?? [];
    parts.push({ name: unquote(field("name")) ?? "", filename: unquote(field("filename")), type: contentType, bytes: bytes.slice(blank + 4, next - 2).buffer });
    at = next;
  }
  return parts;
}
