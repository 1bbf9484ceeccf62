// `node:querystring`.
export const escape = (text) => encodeURIComponent(text);
export const unescape = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

export function stringify(fields = {}, separator = "&", equals = "=") {
  const pair = (name, value) => `${escape(name)}${equals}${escape(typeof value === "object" ? "" : String(value ?? ""))}`;
  return Object.entries(fields).flatMap(([name, value]) => [value].flat().map((one) => pair(name, one))).join(separator);
}

export function parse(text, separator = "&", equals = "=") {
  const fields = Object.create(null);
  for (const part of String(text).split(separator).filter(Boolean)) {
    const at = part.indexOf(equals);
    const [name, value] = (at < 0 ? [part, ""] : [part.slice(0, at), part.slice(at + equals.length)]).map((one) => unescape(one.replaceAll("+", " ")));
    fields[name] = name in fields ? [fields[name], value].flat() : value;
  }
  return fields;
}

export { parse as decode, stringify as encode };
export default { escape, unescape, stringify, parse, decode: parse, encode: stringify };
