// URLPattern: each part of an address has a pattern, which becomes a regular expression.
import { URL } from "thunderhead:url";

const PARTS = ["protocol", "username", "password", "hostname", "port", "pathname", "search", "hash"];
const SEPARATOR = { pathname: "/", hostname: "\\." };
const escape = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

// The end of a group that begins at `from`, which may have others in it.
function closing(text, from, open, close) {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text[at] === "\\") at++;
    else if (text[at] === open) depth++;
    else if (text[at] === close && --depth === 0) return at;
  }
  throw new TypeError(`Invalid URL pattern: "${text}" has no ${close}`);
}

function compile(pattern, part) {
  const names = [];
  const segment = SEPARATOR[part] ? `[^${SEPARATOR[part]}]+?` : ".+?";
  const source = translate(pattern, segment, names);
  return { names, pattern, regexp: new RegExp(`^${source}$`, "u") };
}

function translate(pattern, segment, names) {
  let source = "";
  let at = 0;
  const modifier = () => ("?*+".includes(pattern[at] ?? " ") ? pattern[at++] : "");
  // A separator before an optional group is optional with it.
  const group = (name, body) => {
    names.push(name);
    const mark = modifier();
    if (!mark) return void (source += `(${body})`);
    const prefix = source.endsWith("\\/") ? "\\/" : "";
    source = source.slice(0, source.length - prefix.length);
    const repeated = mark === "?" ? body : `${body}(?:${prefix}${body})*`;
    source += `(?:${prefix}(${repeated}))${mark === "+" ? "" : "?"}`;
  };
  while (at < pattern.length) {
    const letter = pattern[at];
    if (letter === "\\") {
      source += escape(pattern[at + 1] ?? "");
      at += 2;
    } else if (letter === ":" && /[\p{ID_Start}_$]/u.test(pattern[at + 1] ?? "")) {
      const [name] = /^[\p{ID_Continue}$]+/u.exec(pattern.slice(at + 1));
      at += 1 + name.length;
      if (pattern[at] !== "(") group(name, segment);
      else {
        const end = closing(pattern, at, "(", ")");
        const body = pattern.slice(at + 1, end);
        at = end + 1;
        group(name, body);
      }
    } else if (letter === "(") {
      const end = closing(pattern, at, "(", ")");
      const body = pattern.slice(at + 1, end);
      at = end + 1;
      group(String(names.filter((name) => /^\d+$/.test(name)).length), body);
    } else if (letter === "*") {
      at++;
      group(String(names.filter((name) => /^\d+$/.test(name)).length), ".*");
    } else if (letter === "{") {
      const end = closing(pattern, at, "{", "}");
      const body = translate(pattern.slice(at + 1, end), segment, names);
      at = end + 1;
      source += `(?:${body})${modifier()}`;
    } else {
      source += escape(letter);
      at++;
    }
  }
  return source;
}

// The parts of a pattern that is written as one text.
function split(text, base) {
  const init = {};
  let rest = text;
  const scheme = /^([A-Za-z*:(){}|?+.-]*?):\/\//.exec(rest);
  if (scheme) {
    init.protocol = scheme[1];
    rest = rest.slice(scheme[0].length);
    const end = rest.search(/[/?#]/);
    const host = end < 0 ? rest : rest.slice(0, end);
    const port = /:(\d*|\*)$/.exec(host);
    [init.hostname, init.port] = port ? [host.slice(0, port.index), port[1]] : [host, ""];
    rest = end < 0 ? "/" : rest.slice(end);
  } else if (base !== undefined) {
    const { protocol, hostname, port } = new URL(base);
    Object.assign(init, { protocol: protocol.slice(0, -1), hostname, port });
  }
  const hash = rest.indexOf("#");
  if (hash >= 0) [init.hash, rest] = [rest.slice(hash + 1), rest.slice(0, hash)];
  const search = /[^)}*:\w\\]\?|[/\w]\?(?=[\w]+=)/.exec(rest);
  if (search) [init.search, rest] = [rest.slice(search.index + 2), rest.slice(0, search.index + 1)];
  return { ...init, pathname: rest };
}

function valuesOf(input, base) {
  if (typeof input === "object" && !(input instanceof URL)) return Object.fromEntries(PARTS.map((part) => [part, String(input[part] ?? "")]));
  const url = URL.parse(String(input), base);
  if (!url) return undefined;
  const { protocol, username, password, hostname, port, pathname, search, hash } = url;
  return { protocol: protocol.slice(0, -1), username, password, hostname, port, pathname, search: search.slice(1), hash: hash.slice(1) };
}

export class URLPattern {
  #parts;
  constructor(input = {}, base) {
    const init = typeof input === "string" ? split(input, typeof base === "string" ? base : undefined) : input;
    this.#parts = Object.fromEntries(PARTS.map((part) => [part, compile(String(init[part] ?? "*"), part)]));
    for (const part of PARTS) Object.defineProperty(this, part, { value: this.#parts[part].pattern, enumerable: true });
  }
  test(input = {}, base) {
    return this.exec(input, base) !== null;
  }
  exec(input = {}, base) {
    const values = valuesOf(input, base);
    if (!values) return null;
    const result = { inputs: base === undefined ? [input] : [input, base] };
    for (const part of PARTS) {
      const { names, regexp } = this.#parts[part];
      const found = regexp.exec(values[part]);
      if (!found) return null;
      result[part] = { input: values[part], groups: Object.fromEntries(names.map((name, at) => [name, found[at + 1]])) };
    }
    return result;
  }
}
