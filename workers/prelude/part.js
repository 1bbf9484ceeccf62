// Parts of the runtime that most programs never use. One that the program names is there when it boots; any other is
// loaded when it is first asked for. The heap of an isolate is smaller without them, and it is copied at every restore.
import natives from "thunderhead:natives";

const loaded = new Map();

export function part(name) {
  if (!loaded.has(name)) loaded.set(name, natives.part(name));
  return loaded.get(name);
}

export const loadNamed = () => natives.named.forEach(part);

// A global whose value is read from a part when somebody asks for it.
export function defineGlobal(name, read) {
  const set = (value) => void Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  const get = () => {
    set(read());
    return globalThis[name];
  };
  Object.defineProperty(globalThis, name, { get, set, configurable: true });
}
