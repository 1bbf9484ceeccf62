// Dates as text, in English and UTC.
import { notSimulated, supported } from "thunderhead:locale";

const MONTHS = "January February March April May June July August September October November December".split(" ");
const DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");
const DATE = ["weekday", "year", "month", "day"];
const TIME = ["hour", "minute", "second", "fractionalSecondDigits"];
const NAMED = ["long", "short", "narrow"];
const COUNTED = ["numeric", "2-digit"];
const VALUES = {
  ...{ weekday: NAMED, year: COUNTED, month: [...COUNTED, ...NAMED], day: COUNTED, hour: COUNTED, minute: COUNTED, second: COUNTED },
  ...{ fractionalSecondDigits: [1, 2, 3], timeZoneName: ["short", "long"] },
};
const DATE_STYLES = {
  short: { year: "2-digit", month: "numeric", day: "numeric" },
  medium: { year: "numeric", month: "short", day: "numeric" },
  long: { year: "numeric", month: "long", day: "numeric" },
  full: { weekday: "long", year: "numeric", month: "long", day: "numeric" },
};
const CLOCK = { hour: "numeric", minute: "numeric", second: "numeric" };
const TIME_STYLES = {
  short: { hour: "numeric", minute: "numeric" },
  medium: CLOCK,
  long: { ...CLOCK, timeZoneName: "short" },
  full: { ...CLOCK, timeZoneName: "long" },
};
// In which order a date is written in numbers, and what stands between them; the text between date and time; the words for the half of a day.
const PLACES = {
  "en-US": { order: ["month", "day", "year"], between: "/", pads: false, cycle: "h12", halves: ["AM", "PM"] },
  en: { order: ["month", "day", "year"], between: "/", pads: false, cycle: "h12", halves: ["AM", "PM"] },
  "en-GB": { order: ["day", "month", "year"], between: "/", pads: true, cycle: "h23", halves: ["am", "pm"] },
  "en-CA": { order: ["year", "month", "day"], between: "-", pads: true, cycle: "h12", halves: ["a.m.", "p.m."] },
  "sv-SE": { order: ["year", "month", "day"], between: "-", pads: true, cycle: "h23" },
};

const UTC = /^(utc|uct|gmt|zulu|universal|greenwich|gmt[+-]?0|etc\/(utc|uct|gmt|zulu|universal|greenwich|gmt[+-]?0))$/i;
const AREAS = /^(africa|america|antarctica|arctic|asia|atlantic|australia|brazil|canada|chile|etc|europe|indian|mexico|pacific|us)\/[a-z0-9_+\-/]+$/i;
const OLD = "cet eet met wet est mst hst est5edt cst6cdt mst7mdt pst8pdt cuba egypt eire gb gb-eire hongkong iceland iran israel jamaica japan";
const SINGLE = `${OLD} kwajalein libya navajo nz nz-chat poland portugal prc roc rok singapore turkey w-su`.split(" ");
const isZone = (zone) => AREAS.test(zone) || SINGLE.includes(zone.toLowerCase()) || /^[+-]\d\d(:?\d\d)?$/.test(zone);

function checkedZone(zone) {
  if (zone === undefined || UTC.test(zone)) return;
  if (isZone(zone)) throw new RangeError(`The time zone ${zone} is not simulated: only UTC is.`);
  throw new RangeError(`Invalid time zone specified: ${zone}`);
}

// All that is asked of a format of dates. `required` and `defaults` say which fields an answer has when none is asked for.
export function dateOptions(locales, given, required, defaults) {
  const locale = supported("Intl.DateTimeFormat", Object.keys(PLACES), locales);
  const options = given === undefined ? {} : Object(given);
  const { timeZone, hour12, dateStyle, timeStyle } = options;
  checkedZone(timeZone === undefined ? undefined : String(timeZone));
  for (const name of ["era", "dayPeriod"]) if (options[name] !== undefined) throw notSimulated(`Intl.DateTimeFormat with ${name}`);
  for (const [name, ordinary] of [["calendar", "gregory"], ["numberingSystem", "latn"]]) {
    if (options[name] !== undefined && options[name] !== ordinary) throw notSimulated(`Intl.DateTimeFormat with ${name} "${options[name]}"`);
  }
  let fields = {};
  for (const [name, values] of Object.entries(VALUES)) {
    if (options[name] === undefined) continue;
    const value = name === "fractionalSecondDigits" ? Number(options[name]) : String(options[name]);
    if (name === "timeZoneName" && /^(short|long)(Offset|Generic)$/.test(value)) throw notSimulated(`Intl.DateTimeFormat with timeZoneName "${value}"`);
    if (!values.includes(value)) throw new RangeError(`Value ${value} out of range for Intl.DateTimeFormat options property ${name}`);
    fields[name] = value;
  }
  for (const [name, style] of [["dateStyle", dateStyle], ["timeStyle", timeStyle]]) {
    const isKnown = style === undefined || Object.hasOwn(DATE_STYLES, style);
    if (!isKnown) throw new RangeError(`Value ${style} out of range for Intl.DateTimeFormat options property ${name}`);
  }
  const styled = dateStyle !== undefined || timeStyle !== undefined;
  if (styled) {
    const [also] = Object.keys(fields);
    if (also) throw new TypeError(`Can't set option ${also} when ${dateStyle === undefined ? "timeStyle" : "dateStyle"} is used`);
    if (required === "date" && timeStyle !== undefined) throw new TypeError("Invalid option : timeStyle");
    if (required === "time" && dateStyle !== undefined) throw new TypeError("Invalid option : dateStyle");
    const isShort = dateStyle === "short" && PLACES[locale].pads;
    fields = { ...DATE_STYLES[dateStyle], ...(isShort ? { year: "numeric" } : {}), ...TIME_STYLES[timeStyle] };
  } else {
    const has = (names) => names.some((name) => fields[name] !== undefined);
    if (!((required !== "time" && has(DATE)) || (required !== "date" && has(TIME)))) {
      if (defaults !== "time") Object.assign(fields, { year: "numeric", month: "numeric", day: "numeric" });
      if (defaults !== "date") Object.assign(fields, CLOCK);
    }
  }
  // V8 counts the hours from 1 to 24 when `hour12` is false where a day has two halves.
  const usual = PLACES[locale].cycle;
  const cycle = hour12 === undefined ? (options.hourCycle ?? usual) : hour12 ? "h12" : usual === "h23" ? "h23" : "h24";
  if (!["h12", "h23", "h24"].includes(cycle)) throw notSimulated(`Intl.DateTimeFormat with hourCycle "${cycle}"`);
  checkedFields(locale, fields, cycle);
  return { locale, fields, cycle, dateStyle, timeStyle };
}

// Fields that stand in no common order together are refused.
function checkedFields(locale, { weekday, year, month, day, hour, minute, second, timeZoneName, fractionalSecondDigits }, cycle) {
  const isText = month !== undefined && month !== "numeric" && month !== "2-digit";
  const count = [year, month, day].filter((field) => field !== undefined).length;
  const odd =
    (day && year && !month) ||
    (weekday && count > 0 && !(month && day)) ||
    (hour && second && !minute) ||
    (fractionalSecondDigits && !second) ||
    (timeZoneName && !(hour && (minute || PLACES[locale].cycle === "h12"))) ||
    (PLACES[locale].pads && !isText && count === 2) ||
    (PLACES[locale].pads && weekday && count === 0 && (hour || minute || second)) ||
    (locale === "en-GB" && weekday && isText && !year) ||
    (locale === "sv-SE" && (isText || weekday || fractionalSecondDigits || timeZoneName === "long" || (cycle === "h12" && hour)));
  if (odd) throw notSimulated(`Intl.DateTimeFormat with these options together in the locale ${locale}`);
}

const named = (name, width) => (width === "long" ? name : name.slice(0, width === "short" ? 3 : 1));
const padded = (number, width) => (width === "2-digit" ? String(number).padStart(2, "0").slice(-2) : String(number));

function datePart(date, locale, { weekday, year, month, day }) {
  const { order, between, pads } = PLACES[locale];
  const isText = month !== undefined && month !== "numeric" && month !== "2-digit";
  const isWhole = year && month && day;
  const width = (field) => (pads && isWhole && !isText ? "2-digit" : field);
  const texts = {
    year: year && padded(date.getUTCFullYear(), year),
    month: month && (isText ? named(MONTHS[date.getUTCMonth()], month) : padded(date.getUTCMonth() + 1, width(month))),
    day: day && padded(date.getUTCDate(), isText ? day : width(day)),
  };
  const parts = [];
  const add = (type, separator) => {
    if (!texts[type]) return;
    if (parts.length) parts.push({ type: "literal", value: separator });
    parts.push({ type, value: texts[type] });
  };
  if (isText && locale === "en-GB") for (const type of order) add(type, " ");
  else if (isText) for (const type of ["month", "day", "year"]) add(type, type === "year" && day ? ", " : " ");
  else for (const type of order) add(type, between);
  if (!weekday) return parts;
  const name = { type: "weekday", value: named(DAYS[date.getUTCDay()], weekday) };
  return parts.length ? [name, { type: "literal", value: ", " }, ...parts] : [name];
}

function timePart(date, locale, { hour, minute, second, fractionalSecondDigits: fraction, timeZoneName }, cycle) {
  const hours = date.getUTCHours();
  const shown = cycle === "h12" ? hours % 12 || 12 : cycle === "h24" ? hours || 24 : hours;
  const both = minute && (hour || second) ? "2-digit" : "numeric";
  const parts = [];
  const add = (type, value, separator) => {
    if (parts.length) parts.push({ type: "literal", value: separator });
    parts.push({ type, value });
  };
  // V8 has one hour of 24 without a zero before it: a numeric one with a minute of two digits, where hours are always counted so.
  const isBare = PLACES[locale].cycle === "h23" && hour === "numeric" && minute === "2-digit";
  if (hour) add("hour", padded(shown, cycle === "h12" || isBare ? hour : "2-digit"), "");
  if (minute) add("minute", padded(date.getUTCMinutes(), both), ":");
  if (second) add("second", padded(date.getUTCSeconds(), both), ":");
  if (fraction) add("fractionalSecond", String(date.getUTCMilliseconds()).padStart(3, "0").slice(0, fraction), ".");
  if (hour && cycle === "h12") add("dayPeriod", PLACES[locale].halves[hours < 12 ? 0 : 1], "\u202f");
  if (timeZoneName) add("timeZoneName", timeZoneName === "long" ? "Coordinated Universal Time" : "UTC", " ");
  return parts;
}

function dateParts(given, { locale, fields, cycle }) {
  const date = new Date(given === undefined ? Date.now() : Number(given));
  if (Number.isNaN(date.getTime())) throw new RangeError("Invalid time value");
  const [day, time] = [datePart(date, locale, fields), timePart(date, locale, fields, cycle)];
  if (!day.length || !time.length) return [...day, ...time];
  const alone = fields.weekday && !fields.day;
  const value = locale === "sv-SE" || alone ? " " : fields.month === "long" ? " at " : ", ";
  return [...day, { type: "literal", value }, ...time];
}

// V8 writes a plain space where the data of Unicode has a narrow one, but only in a text and not in its parts.
export const dateText = (date, options) => dateParts(date, options).map(({ value }) => value).join("").replaceAll("\u202f", " ");

export class DateTimeFormat {
  #options;
  #format;
  constructor(locales, options) {
    this.#options = dateOptions(locales, options, "any", "date");
  }
  get format() {
    return (this.#format ??= (date) => dateText(date, this.#options));
  }
  formatToParts(date) {
    return dateParts(date, this.#options);
  }
  resolvedOptions() {
    const { locale, fields, cycle, dateStyle, timeStyle } = this.#options;
    const hours = fields.hour === undefined ? {} : { hourCycle: cycle, hour12: cycle === "h12" };
    const shown = dateStyle === undefined && timeStyle === undefined ? fields : { dateStyle, timeStyle };
    return { locale, calendar: "gregory", numberingSystem: "latn", timeZone: "UTC", ...hours, ...shown };
  }
}
