// `HTMLRewriter`: a page is read tag by tag, and handlers change what they are given. As in the runtime, a page is not
// mended: an element without an end tag stays open until one around it ends.
import natives from "thunderhead:natives";
import { isVoid, tokens } from "thunderhead:html";
import { Response, bytesOf } from "thunderhead:http";
import { selector } from "thunderhead:selector";
import { ReadableStream } from "thunderhead:readable_stream";

const escaped = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

// What a handler adds: a text, or a stream or a response that is read when its place has come.
async function written({ content, html }) {
  const body = content instanceof Response ? content.body : content;
  const text = body instanceof ReadableStream ? natives.decode(await bytesOf(body), false) : String(body);
  return html ? text : escaped(text);
}

async function all(additions) {
  let text = "";
  for (const addition of additions) text += await written(addition);
  return text;
}

// A part of the page that can be replaced or surrounded.
class Part {
  #removed = false;
  $before = [];
  $after = [];
  $replacement = [];
  constructor() {
    for (const name of ["$before", "$after", "$replacement"]) Object.defineProperty(this, name, { enumerable: false });
  }
  get removed() {
    return this.#removed;
  }
  before(content, { html = false } = {}) {
    this.$before.push({ content, html });
    return this;
  }
  after(content, { html = false } = {}) {
    this.$after.unshift({ content, html });
    return this;
  }
  replace(content, { html = false } = {}) {
    this.#removed = true;
    this.$replacement.splice(0, 1, { content, html });
    return this;
  }
  remove() {
    this.#removed = true;
    return this;
  }
  // Itself or what stands in its place, and what was put before it.
  async $begun(own) {
    return (await all(this.$before)) + (this.#removed ? await all(this.$replacement) : own);
  }
  async $around(own) {
    return (await this.$begun(own)) + (await all(this.$after));
  }
}

class Text extends Part {
  constructor(text, lastInTextNode) {
    super();
    Object.assign(this, { text, lastInTextNode });
  }
}

class Comment extends Part {
  constructor(text) {
    super();
    this.text = text;
  }
}

class Doctype {
  constructor({ name, publicId, systemId }) {
    Object.assign(this, { name, publicId, systemId });
  }
}

class DocumentEnd {
  $added = [];
  append(content, { html = false } = {}) {
    this.$added.push({ content, html });
    return this;
  }
}

class EndTag extends Part {
  constructor(name) {
    super();
    this.name = name;
  }
}

class Element extends Part {
  #attributes;
  #token;
  #changed = false;
  $inner = { prepended: [], appended: [], removed: false, keepsContent: false, end: undefined };
  constructor(token) {
    super();
    this.#token = { ...token };
    this.#attributes = [...token.attributes];
    Object.defineProperty(this, "$inner", { enumerable: false });
  }
  get tagName() {
    return this.#token.spelled.toLowerCase();
  }
  set tagName(name) {
    if (!/^[a-z]/i.test(name)) throw new TypeError("Parser error: The first character of the tag name should be an ASCII alphabetical character.");
    const [wrong] = /[\s/>]/.exec(name) ?? [];
    if (wrong) throw new TypeError(`Parser error: \`${wrong}\` character is forbidden in the tag name`);
    this.#token.spelled = String(name);
    this.#changed = true;
  }
  get attributes() {
    return this.#attributes.map(({ name, value }) => [name, value]).values();
  }
  get namespaceURI() {
    return this.#token.namespace;
  }
  get $renamed() {
    return this.tagName !== this.#token.name;
  }
  #find(name) {
    const wanted = String(name).toLowerCase();
    return this.#attributes.findIndex((attribute) => attribute.name === wanted);
  }
  getAttribute(name) {
    return this.#attributes[this.#find(name)]?.value ?? null;
  }
  hasAttribute(name) {
    return this.#find(name) >= 0;
  }
  setAttribute(given, value) {
    const name = String(given).toLowerCase();
    if (!name) throw new TypeError("Parser error: Attribute name can't be empty.");
    const [wrong] = /[\s/>=]/.exec(name) ?? [];
    if (wrong) throw new TypeError(`Parser error: \`${wrong}\` character is forbidden in the attribute name`);
    const at = this.#find(name);
    const attribute = { name, value: String(value), raw: `${name}="${String(value).replace(/"/g, "&quot;")}"` };
    this.#attributes.splice(at < 0 ? this.#attributes.length : at, 1, attribute);
    this.#changed = true;
    return this;
  }
  removeAttribute(name) {
    const at = this.#find(name);
    if (at >= 0) this.#attributes.splice(at, 1);
    this.#changed ||= at >= 0;
    return this;
  }
  prepend(content, { html = false } = {}) {
    this.$inner.prepended.unshift({ content, html });
    return this;
  }
  append(content, { html = false } = {}) {
    this.$inner.appended.push({ content, html });
    return this;
  }
  setInnerContent(content, { html = false } = {}) {
    Object.assign(this.$inner, { removed: true, prepended: [{ content, html }], appended: [] });
    return this;
  }
  removeAndKeepContent() {
    this.$inner.keepsContent = true;
    return this.remove();
  }
  // Only the last handler is called, as in the runtime.
  onEndTag(handler) {
    if (isVoid(this.#token.name)) throw new TypeError("Parser error: No end tag.");
    this.$inner.end = handler;
  }
  $tag() {
    const { spelled, raw, isEmpty } = this.#token;
    if (!this.#changed) return raw;
    const attributes = this.#attributes.map((attribute) => ` ${attribute.raw}`).join("");
    return `<${spelled}${attributes}${isEmpty ? " /" : ""}>`;
  }
}

const FOREIGN = { svg: "http://www.w3.org/2000/svg", math: "http://www.w3.org/1998/Math/MathML" };

// One page on its way through the handlers.
class Rewriting {
  #rewriter;
  // The tags that are open, and for each what its end has to do. The first stands for the page.
  #open = [{ counts: new Map(), children: 0 }];
  #page = "";
  constructor(rewriter) {
    this.#rewriter = rewriter;
  }
  get #hidden() {
    return this.#open.some(({ hides }) => hides);
  }
  #write(text) {
    if (!this.#hidden) this.#page += text;
  }
  async run(text) {
    for (const token of tokens(text)) await this[token.kind](token);
    const end = new DocumentEnd();
    for (const { end: handle } of this.#rewriter.document) await handle?.(end);
    this.#open.length = 1;
    this.#write(await all(end.$added));
    return this.#page;
  }
  // The handlers for what is inside of the open tags, and those for the page.
  #inside(kind) {
    const inside = this.#rewriter.elements.filter((each) => each[kind] && this.#open.some(({ means }) => means?.has(each)));
    return [...inside.map((each) => each[kind]), ...this.#rewriter.document.flatMap((each) => each[kind] ?? [])];
  }
  async start(token) {
    const around = this.#open.at(-1);
    const ofType = (around.counts.get(token.name) ?? 0) + 1;
    around.counts.set(token.name, ofType);
    around.children += 1;
    const attributes = new Map(token.attributes.map(({ name, value }) => [name, value]).toReversed());
    const tag = { name: token.name, attributes, child: around.children, ofType, counts: new Map(), children: 0 };
    const path = [...this.#open.slice(1), tag];
    tag.means = new Set(this.#rewriter.elements.filter(({ fits }) => fits(path)));
    // Only in drawings and formulas does a slash end an element.
    const foreign = path.findLast(({ name }) => FOREIGN[name])?.name;
    const isEmpty = Boolean(foreign && token.selfClosing);
    const element = new Element({ ...token, isEmpty, namespace: FOREIGN[foreign] ?? "http://www.w3.org/1999/xhtml" });
    for (const { element: handle } of tag.means) await handle?.(element);
    const { prepended, removed, keepsContent } = element.$inner;
    this.#write((await element.$begun(element.$tag())) + (await all(prepended)));
    if (isEmpty || isVoid(token.name)) return this.#write(await all(element.$after));
    this.#open.push(Object.assign(tag, { element, hides: removed || (element.removed && !keepsContent) }));
  }
  // An end tag also ends what was left open inside of it, and is then all the end tag that this has.
  async end(token) {
    const at = this.#open.findLastIndex(({ name }) => name === token.name);
    if (at <= 0) return this.#write(token.raw);
    const ended = this.#open.splice(at).toReversed();
    const end = new EndTag(token.name);
    let before = "";
    for (const { element } of ended) {
      before += await all(element.$inner.appended);
      end.$after.push(...element.$after);
      if (element.removed) end.remove();
      if (element.$renamed) end.name = element.tagName;
    }
    for (const { element } of ended) await element.$inner.end?.(end);
    const own = end.name === token.name ? token.raw : `</${end.name}>`;
    this.#write(before + (await end.$around(own)));
  }
  async text({ raw }) {
    const handlers = this.#inside("text");
    if (!handlers.length) return this.#write(raw);
    // The end of a text is known only behind it: as in the runtime it is told with an empty one.
    for (const part of [new Text(raw, false), new Text("", true)]) {
      for (const handle of handlers) await handle(part);
      this.#write(await part.$around(part.text));
    }
  }
  async comment({ raw, text }) {
    const part = new Comment(text);
    for (const handle of this.#inside("comments")) await handle(part);
    this.#write(await part.$around(part.text === text ? raw : `<!--${part.text}-->`));
  }
  async doctype(token) {
    for (const { doctype: handle } of this.#rewriter.document) await handle?.(new Doctype(token));
    this.#write(token.raw);
  }
}

const bound = (handlers, names) => Object.fromEntries(names.map((name) => [name, handlers[name]?.bind(handlers)]));

function refuse(method, number, value, type) {
  if (typeof value !== "object" && typeof value !== "function") throw new TypeError(`Failed to execute '${method}' on 'HTMLRewriter': parameter ${number} is not of type '${type}'.`);
}

export class HTMLRewriter {
  #handlers = { elements: [], document: [] };
  on(text, handlers) {
    refuse("on", 2, handlers, "ElementContentHandlers");
    this.#handlers.elements.push({ fits: selector(text), ...bound(handlers, ["element", "comments", "text"]) });
    return this;
  }
  onDocument(handlers) {
    refuse("onDocument", 1, handlers, "DocumentContentHandlers");
    this.#handlers.document.push(bound(handlers, ["doctype", "comments", "text", "end"]));
    return this;
  }
  // The page is rewritten when the answer is read.
  transform(response) {
    if (!(response instanceof Response)) throw new TypeError("Failed to execute 'transform' on 'HTMLRewriter': parameter 1 is not of type 'Response'.");
    if (response.body === null) return response;
    const bytes = response.sent();
    // Nobody has to read the answer.
    bytes.catch(() => {});
    const pull = async (controller) => {
      try {
        const page = await new Rewriting(this.#handlers).run(natives.decode(await bytes, false));
        if (page) controller.enqueue(new Uint8Array(natives.encode(page)));
        controller.close();
      } catch (error) {
        controller.error(error);
      }
    };
    const rewritten = new Response(new ReadableStream({ pull }, { highWaterMark: 0 }), response);
    rewritten.headers.delete("content-length");
    return rewritten;
  }
}
