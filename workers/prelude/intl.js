// Intl, as far as it is English and UTC.
import { Collator, collated, collatorOptions } from "thunderhead:collator";
import { DateTimeFormat, dateOptions, dateText } from "thunderhead:date_time_format";
import { localeOf, supported } from "thunderhead:locale";
import { refusing } from "thunderhead:missing";
import { NUMBERS, NumberFormat, numberOptions, numberText } from "thunderhead:number_format";

// A class that makes an object also without `new`, as some of Intl do.
const callable = (Class) => new Proxy(Class, { apply: (target, self, given) => new target(...given) });

const { getTime } = Date.prototype;
const dateMethod = (required, defaults) =>
  ({
    toLocale(locales, options) {
      const time = getTime.call(this);
      return Number.isNaN(time) ? "Invalid Date" : dateText(time, dateOptions(locales, options, required, defaults));
    },
  }).toLocale;

const numberMethod = (valueOf) =>
  ({
    toLocaleString(locales, options) {
      return numberText(valueOf.call(this), numberOptions(locales, options));
    },
  }).toLocaleString;

const PLAIN = collatorOptions();
// The functions of numbers, dates and texts that take a locale, by class.
export const localized = {
  Number: { toLocaleString: numberMethod(Number.prototype.valueOf) },
  BigInt: { toLocaleString: numberMethod(BigInt.prototype.valueOf) },
  Date: { toLocaleString: dateMethod("any", "all"), toLocaleDateString: dateMethod("date", "date"), toLocaleTimeString: dateMethod("time", "time") },
  String: {
    localeCompare(other, locales, options) {
      return collated(String(this), String(other), locales === undefined && options === undefined ? PLAIN : collatorOptions(locales, options));
    },
  },
};

class PluralRules {
  constructor(locales) {
    supported("Intl.PluralRules", NUMBERS, locales);
  }
  select(number) {
    return Number(number) === 1 ? "one" : "other";
  }
}

class ListFormat {
  #word;
  constructor(locales, { type = "conjunction" } = {}) {
    supported("Intl.ListFormat", NUMBERS, locales);
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
  constructor(locales) {
    supported("Intl.RelativeTimeFormat", NUMBERS, locales);
  }
  format(value, unit) {
    const [number, name] = [Math.abs(value), String(unit).replace(/s$/, "")];
    const amount = `${new NumberFormat().format(number)} ${name}${number === 1 ? "" : "s"}`;
    return value < 0 || Object.is(value, -0) ? `${amount} ago` : `in ${amount}`;
  }
}

const others = ["DisplayNames", "Segmenter", "DurationFormat", "Locale"];
export const Intl = {
  ...{ NumberFormat: callable(NumberFormat), DateTimeFormat: callable(DateTimeFormat), Collator: callable(Collator), PluralRules, ListFormat, RelativeTimeFormat },
  getCanonicalLocales: (given) => (given === undefined ? [] : [given].flat().map(localeOf)),
  ...Object.fromEntries(others.map((name) => [name, refusing(`Intl.${name}`)])),
};
