// The order of texts, as in English.
import { localeOf, notSimulated } from "thunderhead:locale";

// The order of ASCII in English; a letter stands before its capital.
const ORDER = new Map([..."\t\n\v\f\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz"].map((character, at) => [character, at]));
const DIGIT = ORDER.get("0");
// Accents in their order, and letters that are others with a stroke or two in one.
const ACCENTS = [..."\u0301\u0300\u0306\u0302\u030c\u030a\u0308\u030b\u0303\u0307\u0338\u0327\u0328\u0304\u0323"];
const LIKE = { ß: "ss", æ: "ae", œ: "oe", ø: "o\u0338", ł: "l\u0338", đ: "d\u0338", ð: "d\u0338", ħ: "h\u0338" };

// Signs beyond ASCII stand behind those of ASCII that are most like them; nothing for a letter.
function marks(piece, code) {
  const after = /\p{Z}/u.test(piece) ? " " : /\p{P}/u.test(piece) ? '"' : /\p{S}/u.test(piece) ? "$" : undefined;
  return after && ORDER.get(after) + code / 0x200000;
}

// What a text is compared by: its letters without accents and case, then its accents, then its capitals.
function collationKey(text, isNumeric) {
  const [letters, accents, cases] = [[], [], []];
  const add = (letter, isCapital, isJoined) => {
    letters.push(letter);
    accents.push(isJoined ? [ACCENTS.length] : []);
    cases.push(isCapital ? 1 : 0);
  };
  const pieces = text.normalize("NFD").match(isNumeric ? /\d+|[^\d]/gu : /[^]/gu) ?? [];
  for (const piece of pieces) {
    const code = piece.codePointAt(0);
    if (code < 9 || (code > 13 && code < 32) || code === 127) continue;
    if (isNumeric && code >= 48 && code <= 57) {
      const digits = piece.replace(/^0+(?=\d)/, "");
      // More digits make a greater number.
      add([DIGIT, digits.length, digits]);
    } else if (code >= 0x300 && code < 0x370) {
      const at = ACCENTS.indexOf(piece);
      accents.at(-1)?.push(at < 0 ? code : at);
    } else {
      const small = piece.toLowerCase();
      const like = LIKE[small];
      if (like?.[1] === "\u0338") {
        add([ORDER.get(like[0])], small !== piece);
        accents.at(-1).push(ACCENTS.indexOf("\u0338"));
      } else if (like) for (const letter of like) add([ORDER.get(letter)], false, true);
      else add([ORDER.get(small) ?? (marks(piece, code) ?? 1000 + small.codePointAt(0))], small !== piece);
    }
  }
  return { letters, accents, cases };
}

// Compares numbers, or lists of them, from the first to the last.
function inOrder(one, two) {
  if (!Array.isArray(one)) return one < two ? -1 : one > two ? 1 : 0;
  for (let at = 0; at < Math.min(one.length, two.length); at++) {
    const found = inOrder(one[at], two[at]);
    if (found) return found;
  }
  return Math.sign(one.length - two.length);
}

// Languages whose letters stand in the same order as those of English.
const SAME_ORDER = ["en", "de", "it", "nl", "pt", "fr"];
// What is compared, one after the other.
const LEVELS = { base: ["letters"], accent: ["letters", "accents"], case: ["letters", "cases"], variant: ["letters", "accents", "cases"] };

export function collatorOptions(locales, given) {
  const locale = localeOf(locales);
  const isKnown = SAME_ORDER.includes(locale.split("-")[0]) && locale !== "fr-CA";
  if (!isKnown) throw new Error(`Intl.Collator: the locale ${locale} is not simulated; ${SAME_ORDER.join(", ")} are.`);
  const { sensitivity = "variant", numeric = false, usage = "sort", ignorePunctuation = false, caseFirst = "false" } = given === undefined ? {} : Object(given);
  if (!Object.hasOwn(LEVELS, sensitivity)) throw new RangeError(`Value ${sensitivity} out of range for Intl.Collator options property sensitivity`);
  if (ignorePunctuation) throw notSimulated("Intl.Collator with ignorePunctuation");
  if (caseFirst !== "false" && caseFirst !== "lower") throw notSimulated(`Intl.Collator with caseFirst "${caseFirst}"`);
  return { locale, usage, sensitivity, ignorePunctuation: false, collation: "default", numeric: Boolean(numeric), caseFirst };
}

const WEIGHTS = Array.from({ length: 128 }, (none, code) => ORDER.get(String.fromCharCode(code).toLowerCase()) ?? -1);

// Compares texts of ASCII, as most are, without keys, because programs sort long lists by this. Nothing if there is more in them.
function quicklyCollated(one, two, mindsCase) {
  const length = Math.min(one.length, two.length);
  let byCase = 0;
  for (let at = 0; at < length; at++) {
    const [first, second] = [one.charCodeAt(at), two.charCodeAt(at)];
    const [left, right] = [WEIGHTS[first], WEIGHTS[second]];
    if (!(left >= 0 && right >= 0)) return undefined;
    if (left !== right) return left < right ? -1 : 1;
    if (first !== second) byCase ||= first > second ? -1 : 1;
  }
  if (one.length === two.length) return mindsCase ? byCase : 0;
  const isLonger = one.length > length;
  return WEIGHTS[(isLonger ? one : two).charCodeAt(length)] >= 0 ? (isLonger ? 1 : -1) : undefined;
}

export function collated(one, two, { sensitivity, numeric }) {
  if (one === two) return 0;
  const quickly = numeric ? undefined : quicklyCollated(one, two, sensitivity === "case" || sensitivity === "variant");
  if (quickly !== undefined) return quickly;
  const [first, second] = [collationKey(one, numeric), collationKey(two, numeric)];
  for (const level of LEVELS[sensitivity]) {
    const found = inOrder(first[level], second[level]);
    if (found) return found;
  }
  return 0;
}

export class Collator {
  #options;
  #compare;
  constructor(locales, options) {
    this.#options = collatorOptions(locales, options);
  }
  // A function of its own, because programs give it to `sort`.
  get compare() {
    return (this.#compare ??= (one, two) => collated(String(one), String(two), this.#options));
  }
  resolvedOptions() {
    return { ...this.#options };
  }
}
