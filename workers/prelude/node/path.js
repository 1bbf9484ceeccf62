// `node:path`, with slashes.
export const sep = "/";
export const delimiter = ":";
export const isAbsolute = (path) => path.startsWith("/");

export function normalize(path) {
  const parts = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part === ".." && parts.length && parts.at(-1) !== "..") parts.pop();
    else if (part !== ".." || !isAbsolute(path)) parts.push(part);
  }
  const plain = (isAbsolute(path) ? "/" : "") + parts.join("/");
  return (plain || (isAbsolute(path) ? "/" : ".")) + (path.endsWith("/") && parts.length ? "/" : "");
}

export const join = (...parts) => normalize(parts.filter(Boolean).join("/") || ".");

export function resolve(...parts) {
  let path = "";
  for (const part of parts.reverse()) {
    if (part) path = path ? `${part}/${path}` : part;
    if (isAbsolute(path)) break;
  }
  const plain = normalize(isAbsolute(path) ? path : `/${path}`);
  return plain.length > 1 ? plain.replace(/\/$/, "") : plain;
}

export function dirname(path) {
  const at = path.replace(/\/+$/, "").lastIndexOf("/");
  return at < 0 ? "." : at === 0 ? "/" : path.slice(0, at);
}

export function basename(path, ending = "") {
  const name = path.replace(/\/+$/, "").split("/").pop();
  return ending && name.endsWith(ending) && name !== ending ? name.slice(0, -ending.length) : name;
}

export function extname(path) {
  const name = basename(path);
  const at = name.lastIndexOf(".");
  return at <= 0 ? "" : name.slice(at);
}

export function relative(from, to) {
  const [start, end] = [from, to].map((path) => resolve(path).split("/").filter(Boolean));
  let same = 0;
  while (same < start.length && start[same] === end[same]) same++;
  return [...start.slice(same).map(() => ".."), ...end.slice(same)].join("/");
}

export function parse(path) {
  const [base, ext] = [basename(path), extname(path)];
  const dir = path.includes("/") ? dirname(path) : "";
  return { root: isAbsolute(path) ? "/" : "", dir, base, ext, name: ext ? base.slice(0, -ext.length) : base };
}

export const format = ({ dir, root = "", base, name = "", ext = "" }) => (dir ? `${dir}/` : root) + (base ?? name + ext);

export const toNamespacedPath = (path) => path;
export const posix = { toNamespacedPath, sep, delimiter, isAbsolute, normalize, join, resolve, dirname, basename, extname, relative, parse, format };
posix.posix = posix;
export default posix;
