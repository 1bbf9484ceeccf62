// The functions of numbers, dates and texts that take a locale. Those of the engine know none; `intl` does.
import { part } from "thunderhead:part";

const NAMES = { Number: ["toLocaleString"], BigInt: ["toLocaleString"], Date: ["toLocaleString", "toLocaleDateString", "toLocaleTimeString"], String: ["localeCompare"] };

for (const [of, names] of Object.entries(NAMES)) {
  for (const name of names) {
    const { [name]: value } = {
      [name](...given) {
        return part("thunderhead:intl").localized[of][name].apply(this, given);
      },
    };
    Object.defineProperty(globalThis[of].prototype, name, { value, writable: true, configurable: true });
  }
}
