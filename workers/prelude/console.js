// The console writes into the history of the run.
import natives from "thunderhead:natives";

const MAX_DEPTH = 4;

export function show(value, depth = 0) {
  if (typeof value === "string") return depth ? JSON.stringify(value) : value;
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (typeof value === "bigint") return `${value}n`;
  if (typeof value === "function") return `[Function: ${value.name || "(anonymous)"}]`;
  if (typeof value !== "object" || value === null) return String(value);
  if (depth >= MAX_DEPTH) return "…";
  if (value instanceof Date) return value.toISOString();
  const inner = (part) => show(part, depth + 1);
  if (Array.isArray(value)) return `[${value.map(inner).join(", ")}]`;
  if (value instanceof Map) return `Map {${[...value].map(([key, part]) => `${inner(key)} => ${inner(part)}`).join(", ")}}`;
  if (value instanceof Set) return `Set {${[...value].map(inner).join(", ")}}`;
  return `{${Object.entries(value).map(([key, part]) => `${key}: ${inner(part)}`).join(", ")}}`;
}

const line = (...values) => natives.log(values.map((value) => show(value)).join(" "));

export const console = { assert: (holds, ...values) => void (holds || line("Assertion failed", ...values)) };
for (const name of ["log", "info", "warn", "error", "debug", "trace", "dir", "table", "group", "dirxml", "groupCollapsed"]) console[name] = line;
for (const name of ["groupEnd", "time", "timeEnd", "timeLog", "count", "countReset", "clear", "timeStamp", "profile", "profileEnd"]) console[name] = () => {};
