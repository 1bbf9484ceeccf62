// `node:url`: the standard's addresses, and those of older programs, which are taken apart as they are written.
import { URL, URLSearchParams } from "thunderhead:url";
import * as querystring from "node:querystring";

const SLASHED = ["http:", "https:", "ftp:", "gopher:", "file:", "ws:", "wss:"];
const FIELDS = ["protocol", "slashes", "auth", "host", "port", "hostname", "hash", "search", "query", "pathname", "path", "href"];
const escaped = (text) => text.replace(/[\t\n\r "'<>\\^`{|}]/g, (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`);

// An address with what it has, and `null` for what it has not.
export function Url() {
  for (const field of FIELDS) this[field] = null;
}

export function parse(given, parseQuery = false, slashesDenoteHost = false) {
  if (given instanceof Url) return given;
  if (typeof given !== "string") throw Object.assign(new TypeError('The "url" argument must be of type string.'), { code: "ERR_INVALID_ARG_TYPE" });
  const [url, text] = [new Url(), given.trim()];
  const cut = text.search(/[?#]/);
  let rest = cut < 0 ? text.replaceAll("\\", "/") : text.slice(0, cut).replaceAll("\\", "/") + text.slice(cut);
  const [protocol] = /^[a-z0-9.+-]+:/i.exec(rest) ?? [];
  if (protocol) [url.protocol, rest] = [protocol.toLowerCase(), rest.slice(protocol.length)];
  if ((protocol || slashesDenoteHost || /^\/\/[^@/]+@[^@/]+/.test(rest)) && rest.startsWith("//") && url.protocol !== "javascript:") [url.slashes, rest] = [true, rest.slice(2)];
  if (url.protocol !== "javascript:" && (url.slashes || (protocol && !SLASHED.includes(url.protocol)))) {
    const end = rest.search(/[/?#]/);
    const place = end < 0 ? rest : rest.slice(0, end);
    rest = rest.slice(place.length);
    const at = place.lastIndexOf("@");
    if (at >= 0) url.auth = decodeURIComponent(place.slice(0, at));
    const [, name, port] = /^(.*?)(?::([0-9]*))?$/.exec(place.slice(at + 1));
    url.port = port || null;
    url.hostname = name.toLowerCase().replace(/^\[(.*)\]$/, "$1");
    url.host = name.toLowerCase() + (port ? `:${port}` : "");
  }
  rest = escaped(rest);
  const hash = rest.indexOf("#");
  if (hash >= 0) [url.hash, rest] = [rest.slice(hash), rest.slice(0, hash)];
  const search = rest.indexOf("?");
  if (search >= 0) [url.search, rest] = [rest.slice(search), rest.slice(0, search)];
  else if (parseQuery) url.search = "";
  if (search >= 0 || parseQuery) url.query = parseQuery ? querystring.parse(url.search.slice(1)) : url.search.slice(1);
  url.pathname = rest || (SLASHED.includes(url.protocol) && url.hostname ? "/" : null);
  if (url.pathname || url.search) url.path = (url.pathname ?? "") + (url.search ?? "");
  url.href = format(url);
  return url;
}

export function format(given, { auth = true, fragment = true, search = true } = {}) {
  if (given instanceof URL) {
    const copy = new URL(given);
    if (!auth) [copy.username, copy.password] = ["", ""];
    if (!fragment) copy.hash = "";
    if (!search) copy.search = "";
    return copy.href;
  }
  const url = typeof given === "string" ? parse(given) : given;
  if (url.href && url instanceof Url) return url.href;
  const led = (mark, text) => (text && !text.startsWith(mark) ? mark + text : (text ?? ""));
  const protocol = url.protocol ? url.protocol.replace(/:?$/, ":") : "";
  const user = url.auth ? `${encodeURIComponent(url.auth).replace("%3A", ":")}@` : "";
  const name = url.hostname?.includes(":") ? `[${url.hostname}]` : url.hostname;
  const host = url.host ? user + url.host : name ? user + name + (url.port ? `:${url.port}` : "") : null;
  const query = url.search ?? (url.query && typeof url.query === "object" ? querystring.stringify(url.query) : "");
  const hasSlashes = url.slashes || ((!protocol || SLASHED.includes(protocol)) && host !== null);
  const path = (url.pathname ?? "").replace(/[?#]/g, encodeURIComponent);
  return protocol + (hasSlashes ? "//" : "") + (host ?? "") + (hasSlashes && host ? led("/", path) : path) + led("?", query).replace("#", "%23") + led("#", url.hash ?? "");
}

// What `to` means at the address `from`, which may be a path alone.
export function resolve(from, to) {
  const { protocol, pathname, search, hash, href } = new URL(to, new URL(from, "resolve://host/"));
  if (protocol !== "resolve:") return href;
  return (from.startsWith("/") || to.startsWith("/") ? pathname : pathname.slice(1)) + search + hash;
}
export const resolveObject = (from, to) => parse(resolve(from, to));
Url.prototype.resolve = function (to) {
  return resolve(this.href, to);
};
Url.prototype.format = function () {
  return format(this);
};

export const urlToHttpOptions = ({ protocol, hostname, hash, search, pathname, href, port, username, password }) => ({
  ...{ protocol, hostname: hostname.replace(/^\[(.*)\]$/, "$1"), hash, search, pathname, path: pathname + search, href },
  ...(port === "" ? {} : { port: Number(port) }),
  ...(username || password ? { auth: `${decodeURIComponent(username)}:${decodeURIComponent(password)}` } : {}),
});
export const fileURLToPath = (url) => new URL(url).pathname;
export const pathToFileURL = (path) => new URL(`file://${path}`);
export const toPathIfFileURL = (given) => (given instanceof URL ? fileURLToPath(given) : given);
export const domainToASCII = (name) => new URL(`http://${name}`).hostname;
export { URL, URLSearchParams };
export default { URL, URLSearchParams, Url, parse, format, resolve, resolveObject, urlToHttpOptions, fileURLToPath, pathToFileURL, toPathIfFileURL, domainToASCII };
