// As much of DER as keys need.
import { concat } from "thunderhead:text";

// The parts of what is in the bytes: a tag and the bytes of each.
export function parts(buffer) {
  const bytes = new Uint8Array(buffer);
  const found = [];
  for (let at = 0; at + 1 < bytes.length; ) {
    const tag = bytes[at++];
    let length = bytes[at++];
    if (length & 0x80) {
      let digits = length & 0x7f;
      for (length = 0; digits > 0; digits--) length = length * 256 + (bytes[at++] ?? 0);
    }
    if (at + length > bytes.length) throw new Error("a part is longer than the whole");
    found.push({ tag, bytes: bytes.slice(at, at + length).buffer });
    at += length;
  }
  return found;
}

// A part with a tag.
export function part(tag, ...inner) {
  const body = concat(inner);
  const size = [];
  for (let rest = body.byteLength; rest > 0; rest = Math.floor(rest / 256)) size.unshift(rest % 256);
  const head = body.byteLength < 0x80 ? [tag, body.byteLength] : [tag, 0x80 | size.length, ...size];
  return concat([new Uint8Array(head).buffer, body]);
}

export const SEQUENCE = 0x30;
export const INTEGER = 0x02;
export const OCTETS = 0x04;
export const BITS = 0x03;
export const NAME = 0x06;

// A number that is not negative: one whose first bit is set has a zero before it.
export function integer(buffer) {
  let bytes = new Uint8Array(buffer);
  while (bytes.length > 1 && bytes[0] === 0) bytes = bytes.slice(1);
  return part(INTEGER, bytes[0] & 0x80 ? concat([new Uint8Array(1).buffer, bytes.slice().buffer]) : bytes.slice().buffer);
}

// The bytes of a number without the zero before it.
export function plain(buffer) {
  const bytes = new Uint8Array(buffer);
  return (bytes.length > 1 && bytes[0] === 0 ? bytes.slice(1) : bytes).buffer;
}
