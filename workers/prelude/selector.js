// Selectors of CSS, as far as `HTMLRewriter` has them: what stands before a tag decides, nothing behind it.
const wrong = (what) => new TypeError(`Parser error: ${what}`);

const NAME = /^(?:[-\w\u0080-\uffff]|\\.)+/;
const ATTRIBUTE = /^\[\s*((?:[-\w:\u0080-\uffff]|\\.)+)\s*(?:([~|^$*]?=)\s*(?:"([^"]*)"|'([^']*)'|([^\s\]]+))\s*([is])?\s*)?\]/i;
const PSEUDO = /^:([-\w]+)(?:\(\s*([^)]*?)\s*\))?/;

const COMPARE = {
  "=": (value, wanted) => value === wanted,
  "~=": (value, wanted) => wanted !== "" && value.split(/\s+/).includes(wanted),
  "|=": (value, wanted) => value === wanted || value.startsWith(`${wanted}-`),
  "^=": (value, wanted) => wanted !== "" && value.startsWith(wanted),
  "$=": (value, wanted) => wanted !== "" && value.endsWith(wanted),
  "*=": (value, wanted) => wanted !== "" && value.includes(wanted),
};

const plain = (name) => name.replace(/\\(.)/g, "$1");

function attribute([, name, operator, double, single, bare, flag]) {
  const key = plain(name);
  if (operator === undefined) return ({ attributes }) => attributes.has(key);
  const fold = flag?.toLowerCase() === "i" ? (text) => text.toLowerCase() : (text) => text;
  const wanted = fold(double ?? single ?? bare);
  return ({ attributes }) => attributes.has(key) && COMPARE[operator](fold(attributes.get(key)), wanted);
}

// The positions that `2n+1`, `odd` or `3` mean.
function positions(text) {
  const formula = { odd: "2n+1", even: "2n" }[text] ?? text.replace(/\s+/g, "");
  const found = /^(?:([+-]?\d*)n)?([+-]?\d+)?$/.exec(formula);
  if (!found || formula === "") throw wrong("Invalid or unsupported position in selector.");
  const step = found[1] === undefined ? 0 : Number(/\d/.test(found[1]) ? found[1] : `${found[1]}1`);
  const first = Number(found[2] ?? 0);
  return (position) => (step === 0 ? position === first : (position - first) % step === 0 && (position - first) / step >= 0);
}

function pseudo(name, argument) {
  if (name === "first-child") return ({ child }) => child === 1;
  if (name === "first-of-type") return ({ ofType }) => ofType === 1;
  if (name === "not") {
    const tests = alternatives(argument ?? "").map((each) => compound(each.trim()));
    if (!tests.length || tests.some(([, rest]) => rest)) throw wrong("Unsupported selector inside of :not().");
    return (tag) => !tests.some(([test]) => test(tag));
  }
  if (name !== "nth-child" && name !== "nth-of-type") throw wrong("Unsupported pseudo-class or pseudo-element in selector.");
  const fits = positions(argument ?? "");
  return name === "nth-child" ? ({ child }) => fits(child) : ({ ofType }) => fits(ofType);
}

// The test of one tag at the start of a text, and the text behind it.
function compound(text) {
  const tests = [];
  for (let rest = text; ; ) {
    const [first] = rest;
    let found;
    if (first === "*" && !tests.length) [found] = ["*", tests.push(() => true)];
    else if (first === "." && (found = NAME.exec(rest.slice(1))?.[0])) {
      const wanted = plain(found);
      tests.push(({ attributes }) => (attributes.get("class") ?? "").split(/\s+/).includes(wanted));
      found = `.${found}`;
    } else if (first === "#" && (found = NAME.exec(rest.slice(1))?.[0])) {
      const wanted = plain(found);
      tests.push(({ attributes }) => attributes.get("id") === wanted);
      found = `#${found}`;
    } else if (first === "[") {
      const parts = ATTRIBUTE.exec(rest);
      if (parts) [found] = [parts[0], tests.push(attribute(parts))];
    } else if (first === ":") {
      const parts = PSEUDO.exec(rest);
      if (parts) [found] = [parts[0], tests.push(pseudo(parts[1].toLowerCase(), parts[2]))];
    } else if (!tests.length && (found = NAME.exec(rest)?.[0])) {
      const wanted = plain(found).toLowerCase();
      tests.push(({ name }) => name === wanted);
    }
    if (found) {
      rest = rest.slice(found.length);
      continue;
    }
    if (!tests.length || !/^[\s>+~]|^$/.test(rest)) throw wrong(first === "." ? "Invalid or unescaped class name in selector." : "Unexpected token in selector.");
    return [(tag) => tests.every((test) => test(tag)), rest];
  }
}

// Steps from left to right; each says whether its tag must be the direct parent of the next.
function steps(text) {
  const all = [];
  let rest = text;
  while (rest) {
    const [test, behind] = compound(rest);
    const [, space, combinator] = /^(\s*)([>+~]?)/.exec(behind);
    if (combinator === "+" || combinator === "~") throw wrong(`Unsupported combinator \`${combinator}\` in selector.`);
    all.push({ test, direct: combinator === ">" });
    rest = behind.slice(space.length + combinator.length).trimStart();
    if (combinator && !rest) throw wrong("Dangling combinator in selector.");
  }
  return all;
}

// Whether the steps up to one lead to the last of these tags.
function leads(all, at, tags, last) {
  if (!all[at].test(tags[last])) return false;
  if (at === 0) return true;
  if (all[at - 1].direct) return last > 0 && leads(all, at - 1, tags, last - 1);
  for (let above = last - 1; above >= 0; above--) if (leads(all, at - 1, tags, above)) return true;
  return false;
}

// A comma inside of brackets or quotes divides nothing.
const alternatives = (text) => text.match(/(?:"[^"]*"|'[^']*'|\[[^\]]*\]|\([^)]*\)|[^,])+/g) ?? [];

// A function that says of a path of open tags whether the selector means its last one.
export function selector(text) {
  const found = alternatives(String(text)).map((each) => steps(each.trim()));
  if (!found.length || found.some((all) => !all.length)) throw wrong("The selector is empty.");
  return (tags) => found.some((all) => leads(all, all.length - 1, tags, tags.length - 1));
}
