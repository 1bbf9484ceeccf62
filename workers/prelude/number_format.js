// Numbers as text, in English.
import { DEFAULT, notSimulated, supported } from "thunderhead:locale";

const group = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ",");

export const NUMBERS = ["en-US", "en", "en-GB", "en-CA", "en-AU", "en-NZ", "en-IE"];
// Elsewhere than in the United States, other currencies have other signs.
const SIGNS = {
  ...{ USD: "$", EUR: "€", GBP: "£", JPY: "¥", CAD: "CA$", AUD: "A$", NZD: "NZ$", MXN: "MX$", BRL: "R$" },
  ...{ INR: "₹", CNY: "CN¥", KRW: "₩", ILS: "₪", VND: "₫", TWD: "NT$", HKD: "HK$" },
};
const NO_CENTS = ["JPY", "KRW", "VND", "CLP", "ISK", "PYG", "UGX", "XAF", "XOF", "XPF", "RWF"];
const THREE_DIGITS = ["BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"];
// Options whose other values change the answer in ways that are not simulated.
const ORDINARY = {
  ...{ notation: "standard", signDisplay: "auto", currencyDisplay: "symbol", currencySign: "standard", numberingSystem: "latn" },
  ...{ roundingMode: "halfExpand", trailingZeroDisplay: "auto", roundingPriority: "auto", roundingIncrement: 1 },
};

function digitsOption(name, value, otherwise) {
  if (value === undefined) return otherwise;
  const number = Math.floor(Number(value));
  if (!(number >= (name === "minimumIntegerDigits" ? 1 : 0) && number <= 100)) throw new RangeError(`${name} value is out of range.`);
  return number;
}

function signOf(currency, locale) {
  if (locale === "en" || locale === DEFAULT) return SIGNS[currency] ?? `${currency}\u00a0`;
  if ((locale === "en-GB" || locale === "en-IE") && (currency === "GBP" || currency === "EUR")) return SIGNS[currency];
  throw notSimulated(`Intl.NumberFormat: the currency ${currency} in the locale ${locale}`);
}

// All that is asked of a format of numbers, with what holds when it is not said.
export function numberOptions(locales, given) {
  const locale = supported("Intl.NumberFormat", NUMBERS, locales);
  const options = given === undefined ? {} : Object(given);
  const { style = "decimal", useGrouping = true } = options;
  if (!["decimal", "percent", "currency", "unit"].includes(style)) throw new RangeError(`Value ${style} out of range for Intl.NumberFormat options property style`);
  if (style === "unit") throw notSimulated('Intl.NumberFormat with the style "unit"');
  for (const [name, ordinary] of Object.entries(ORDINARY)) {
    if (options[name] !== undefined && options[name] !== ordinary) throw notSimulated(`Intl.NumberFormat with ${name} "${options[name]}"`);
  }
  for (const name of ["minimumSignificantDigits", "maximumSignificantDigits"]) if (options[name] !== undefined) throw notSimulated(`Intl.NumberFormat with ${name}`);
  let currency;
  if (style === "currency") {
    if (options.currency === undefined) throw new TypeError("Currency code is required with currency style.");
    currency = String(options.currency).toUpperCase();
    if (!/^[A-Z]{3}$/.test(currency)) throw new RangeError(`Invalid currency code : ${options.currency}`);
  }
  const cents = currency === undefined ? 0 : NO_CENTS.includes(currency) ? 0 : THREE_DIGITS.includes(currency) ? 3 : 2;
  let least = digitsOption("minimumFractionDigits", options.minimumFractionDigits);
  let most = digitsOption("maximumFractionDigits", options.maximumFractionDigits);
  const usual = style === "decimal" ? 3 : cents;
  if (least !== undefined && most !== undefined && least > most) throw new RangeError("maximumFractionDigits value is out of range.");
  least ??= most === undefined ? cents : Math.min(cents, most);
  most ??= Math.max(usual, least);
  const whole = digitsOption("minimumIntegerDigits", options.minimumIntegerDigits, 1);
  const sign = currency === undefined ? "" : signOf(currency, locale);
  return { locale, style, currency, sign, whole, least, most, useGrouping: useGrouping !== false && useGrouping !== "false" };
}

// The digits of a number that is not negative, rounded as they are written: 1.005 has a 5 at its end, though the number is a little less.
function rounded(text, shift, { whole: wanted, least, most }) {
  const [, before, after = "", power = "0"] = /^(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(text);
  let digits = before + after;
  let point = before.length + Number(power) + shift;
  if (point < 1) [digits, point] = ["0".repeat(1 - point) + digits, 1];
  digits = digits.padEnd(point, "0");
  const up = digits[point + most] >= "5" ? 1n : 0n;
  const kept = String(BigInt(digits.slice(0, point + most).padEnd(point + most, "0")) + up).padStart(most + 1, "0");
  const part = kept.slice(kept.length - most).slice(0, most).replace(/0+$/, "").padEnd(least, "0");
  return [kept.slice(0, kept.length - most).padStart(wanted, "0"), part];
}

export function numberText(given, options) {
  const value = typeof given === "bigint" ? given : Number(given);
  const isNegative = value < 0 || Object.is(value, -0);
  const { style, sign, useGrouping } = options;
  let text;
  if (Number.isNaN(value)) text = "NaN";
  else if (value === Infinity || value === -Infinity) text = "∞";
  else {
    const [whole, part] = rounded(String(value).replace(/^-/, ""), style === "percent" ? 2 : 0, options);
    text = (useGrouping ? group(whole) : whole) + (part ? `.${part}` : "");
  }
  return `${isNegative ? "-" : ""}${sign}${text}${style === "percent" ? "%" : ""}`;
}

export class NumberFormat {
  #options;
  #format;
  constructor(locales, options) {
    this.#options = numberOptions(locales, options);
  }
  // A function of its own, because programs give it to `map`.
  get format() {
    return (this.#format ??= (number) => numberText(number, this.#options));
  }
  resolvedOptions() {
    const { locale, style, currency, whole, least, most, useGrouping } = this.#options;
    const money = currency === undefined ? {} : { currency, currencyDisplay: "symbol", currencySign: "standard" };
    const digits = { minimumIntegerDigits: whole, minimumFractionDigits: least, maximumFractionDigits: most };
    return { locale, numberingSystem: "latn", style, ...money, ...digits, useGrouping: useGrouping ? "auto" : false, notation: "standard", signDisplay: "auto" };
  }
}
