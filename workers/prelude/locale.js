// Locales, as far as they are simulated. What is not says so: an answer in the wrong language or zone would look right.
export const DEFAULT = "en-US";

// The first of the locales that were asked for.
export function localeOf(given) {
  const first = given === undefined ? DEFAULT : typeof given === "string" ? given : ([...given][0] ?? DEFAULT);
  const text = String(first);
  if (!/^[a-z]{2,8}(-[a-z0-9]{1,8})*$/i.test(text)) throw new RangeError(`Incorrect locale information provided: ${text}`);
  const [language, ...rest] = text.split("-");
  return [language.toLowerCase(), ...rest.map((part) => (part.length === 2 ? part.toUpperCase() : part))].join("-");
}

export function supported(what, known, given) {
  const locale = localeOf(given);
  if (!known.includes(locale)) throw new Error(`${what}: the locale ${locale} is not simulated; ${known.join(", ")} are.`);
  return locale;
}

export const notSimulated = (what) => new Error(`${what} is not simulated.`);
