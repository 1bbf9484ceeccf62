// What programs use and the simulation does not have: each says so by its name when it is used.
const refusing = (name) =>
  class {
    constructor() {
      throw new Error(`${name} is not simulated.`);
    }
  };

export const missing = { EventSource: refusing("EventSource") };

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

class ListFormat {
  #word;
  constructor(locale, { type = "conjunction" } = {}) {
    this.#word = type === "disjunction" ? "or" : type === "unit" ? "" : "and";
  }
  format(list) {
    const items = [...list];
    const last = items.pop() ?? "";
    if (!items.length) return last;
    const word = this.#word && `${this.#word} `;
    return `${items.join(", ")}${items.length > 1 || !word ? "," : ""} ${word}${last}`;
  }
}

class RelativeTimeFormat {
  format(value, unit) {
    const [number, name] = [Math.abs(value), String(unit).replace(/s$/, "")];
    const amount = `${new NumberFormat().format(number)} ${name}${number === 1 ? "" : "s"}`;
    return value < 0 || Object.is(value, -0) ? `${amount} ago` : `in ${amount}`;
  }
}

const others = ["DisplayNames", "Segmenter", "DurationFormat", "Locale"];
export const Intl = { NumberFormat, DateTimeFormat, Collator, PluralRules, ListFormat, RelativeTimeFormat, getCanonicalLocales: (given) => [given].flat(), ...Object.fromEntries(others.map((name) => [name, refusing(`Intl.${name}`)])) };
