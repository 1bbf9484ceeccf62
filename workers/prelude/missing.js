// What programs use and the simulation does not have: each says so by its name when it is used.
const refusing = (name, instead) =>
  class {
    constructor() {
      throw new Error(`${name} is not simulated${instead ? `: ${instead}` : "."}`);
    }
  };

export const missing = {
  HTMLRewriter: refusing("HTMLRewriter", "return the page as it is, or build it from text."),
  CompressionStream: refusing("CompressionStream", "send the bytes as they are."),
  DecompressionStream: refusing("DecompressionStream", "send the bytes uncompressed."),
  EventSource: refusing("EventSource"),
};

const group = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ",");

// As much of Intl as is English and UTC.
class NumberFormat {
  #options;
  constructor(locale, options = {}) {
    this.#options = options;
  }
  format(number) {
    const { style, currency = "", minimumFractionDigits: least = style === "currency" ? 2 : 0, maximumFractionDigits: most = style === "currency" ? 2 : Math.max(3, least) } = this.#options;
    const value = style === "percent" ? Number(number) * 100 : Number(number);
    const [whole, part = ""] = Math.abs(value).toFixed(style === "percent" ? 0 : most).split(".");
    const kept = part.replace(/0+$/, "").padEnd(least, "0");
    const text = group(whole) + (kept ? `.${kept}` : "");
    return `${value < 0 ? "-" : ""}${style === "currency" ? (currency === "USD" ? "$" : `${currency} `) : ""}${text}${style === "percent" ? "%" : ""}`;
  }
  resolvedOptions() {
    return { locale: "en-US", numberingSystem: "latn", ...this.#options };
  }
}

class DateTimeFormat {
  format(date = new Date()) {
    const day = new Date(date);
    return `${day.getUTCMonth() + 1}/${day.getUTCDate()}/${day.getUTCFullYear()}`;
  }
  resolvedOptions() {
    return { locale: "en-US", calendar: "gregory", numberingSystem: "latn", timeZone: "UTC" };
  }
}

class Collator {
  compare(one, two) {
    return one < two ? -1 : one > two ? 1 : 0;
  }
}

class PluralRules {
  select(number) {
    return Number(number) === 1 ? "one" : "other";
  }
}

const others = ["RelativeTimeFormat", "ListFormat", "DisplayNames", "Segmenter", "DurationFormat", "Locale"];
export const Intl = { NumberFormat, DateTimeFormat, Collator, PluralRules, getCanonicalLocales: (given) => [given].flat(), ...Object.fromEntries(others.map((name) => [name, refusing(`Intl.${name}`)])) };
