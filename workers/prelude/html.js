// The tokens of a page: tags, texts, comments and doctypes, each with its own text. What a parser of pages would mend,
// such as an end tag that is missing, stays as it was written.

// Elements whose content is text, up to their end tag.
const TEXTS = ["script", "style", "textarea", "title", "iframe", "xmp", "noembed", "noframes", "noscript"];
const VOID = ["area", "base", "basefont", "bgsound", "br", "col", "embed", "frame", "hr", "img", "input", "keygen", "link", "meta", "param", "source", "track", "wbr"];

export const isVoid = (name) => VOID.includes(name);

const ATTRIBUTE = /[\s/]*([^\s/>=][^\s/>=]*|=[^\s/>=]*)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))?)?/y;

// The attributes of a tag as they are written, and where it ends; nothing if it never does.
function attributes(page, from) {
  const found = [];
  let at = from;
  for (;;) {
    ATTRIBUTE.lastIndex = at;
    const parts = ATTRIBUTE.exec(page);
    if (!parts) break;
    found.push({ name: parts[1].toLowerCase(), value: parts[2] ?? parts[3] ?? parts[4] ?? "", raw: parts[0].replace(/^[\s/]+/, "") });
    at = ATTRIBUTE.lastIndex;
  }
  const end = page.indexOf(">", at);
  return end < 0 ? undefined : { found, end: end + 1, selfClosing: page[end - 1] === "/" };
}

function startTag(page, at) {
  const [name] = /^[^\s/>]+/.exec(page.slice(at + 1, at + 100)) ?? [];
  const rest = attributes(page, at + 1 + name.length);
  return rest && { kind: "start", name: name.toLowerCase(), spelled: name, attributes: rest.found, selfClosing: rest.selfClosing, end: rest.end };
}

function endTag(page, at) {
  const end = page.indexOf(">", at);
  const name = page.slice(at + 2, end).split(/[\s/]/)[0];
  return end < 0 ? undefined : { kind: "end", name: name.toLowerCase(), spelled: name, end: end + 1 };
}

function comment(page, at) {
  const start = at + 4;
  if (page.startsWith(">", start) || page.startsWith("->", start)) return { kind: "comment", text: "", end: page.indexOf(">", start) + 1 };
  const found = /--!?>/g;
  found.lastIndex = start;
  const close = found.exec(page);
  return close ? { kind: "comment", text: page.slice(start, close.index), end: found.lastIndex } : { kind: "comment", text: page.slice(start), end: page.length };
}

const DOCTYPE = /^<!doctype\s*([^\s>]+)?\s*(?:public\s*["']([^"']*)["']\s*(?:["']([^"']*)["'])?|system\s*["']([^"']*)["'])?/i;

function declaration(page, at) {
  if (page.startsWith("<!--", at)) return comment(page, at);
  const close = page.indexOf(">", at);
  const end = close < 0 ? page.length : close + 1;
  const doctype = DOCTYPE.exec(page.slice(at, end));
  if (!doctype) return { kind: "comment", text: page.slice(at + (page[at + 1] === "?" ? 1 : 2), close < 0 ? end : close), end };
  const [, name, publicId, behind, systemId] = doctype;
  return { kind: "doctype", name: name?.toLowerCase() ?? null, publicId: publicId ?? null, systemId: systemId ?? behind ?? null, end };
}

// What begins at a `<`; nothing if that is only text.
function markup(page, at) {
  const next = page[at + 1] ?? "";
  if (/[a-z]/i.test(next)) return startTag(page, at);
  if (next === "/" && /[a-z]/i.test(page[at + 2] ?? "")) return endTag(page, at);
  if (next === "!" || next === "?" || next === "/") return declaration(page, at);
  return undefined;
}

// Where the text of an element ends whose content is nothing else.
function endOfText(page, at, name) {
  const found = new RegExp(`</${name}(?=[\\s/>])`, "gi");
  found.lastIndex = at;
  return found.exec(page)?.index ?? page.length;
}

// Where a text that begins here ends: before the next markup.
function nextMarkup(page, from, last) {
  for (let at = page.indexOf("<", from); at >= 0 && at < last; at = page.indexOf("<", at + 1)) if (markup(page, at)) return at;
  return page.length;
}

export function* tokens(page) {
  // Behind the last `>` is only text; to know it keeps a page without any from being searched again and again.
  const last = page.lastIndexOf(">");
  for (let at = 0; at < page.length; ) {
    const found = page[at] === "<" && at < last ? markup(page, at) : undefined;
    const token = found ?? { kind: "text", end: nextMarkup(page, at + 1, last) };
    yield { ...token, raw: page.slice(at, token.end) };
    at = token.end;
    if (token.kind === "start" && token.name === "plaintext") [at] = yield* text(page, at, page.length);
    if (token.kind === "start" && TEXTS.includes(token.name)) [at] = yield* text(page, at, endOfText(page, at, token.name));
  }
}

function* text(page, from, end) {
  if (end > from) yield { kind: "text", raw: page.slice(from, end), end };
  return [end];
}
