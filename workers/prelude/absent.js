// Modules that programs import, often through a package, and seldom use. Importing one is no mistake here; what it
// exports says by its name that it is not simulated when it is called or made.
import { STATUS_CODES } from "thunderhead:status";

const refusal = (module, name) => new Error(`${module}: ${name} is not simulated.`);

// An ordinary function, not an arrow: it has a prototype, so packages can inherit from it while they load.
function absent(module, name) {
  const refuse = function () {
    throw refusal(module, name);
  };
  return Object.defineProperty(refuse, "name", { value: name });
}

// Functions in an object, such as `fs.promises.readFile`, whatever their names. It is no promise, so it has no `then`.
const inside = (module, name) =>
  new Proxy({}, { get: (own, inner) => (typeof inner === "string" && inner !== "then" ? (own[inner] ??= absent(module, `${name}.${inner}`)) : own[inner]) });

// The methods that Node knows. Packages read these and the statuses while they load, or to word an error.
const METHODS = (
  "ACL BIND CHECKOUT CONNECT COPY DELETE GET HEAD LINK LOCK M-SEARCH MERGE MKACTIVITY MKCALENDAR MKCOL MOVE NOTIFY OPTIONS PATCH POST " +
  "PROPFIND PROPPATCH PURGE PUT QUERY REBIND REPORT SEARCH SOURCE SUBSCRIBE TRACE UNBIND UNLINK UNLOCK UNSUBSCRIBE"
).split(" ");
// Packages make one while they load, and leave it unused where they fetch.
function Agent(options = {}) {
  this.options = { ...options };
}
Agent.prototype.destroy = () => {};
const DATA = {
  "node:http": { Agent, METHODS, STATUS_CODES, globalAgent: new Agent(), maxHeaderSize: 16384 },
  "node:https": { Agent, globalAgent: new Agent() },
};

// Modules that are themselves a constructor, which is also under its name.
const CONSTRUCTORS = { "node:module": "Module" };

// What stands for a name. One with a number (`Z_OK=0`) is that, and one with a dot (`win32.`) is an object.
function standIn(module, spec) {
  const [name, number] = spec.split("=");
  if (number !== undefined) return [name, Number(number)];
  const plain = name.replace(/\.$/, "");
  return [plain, DATA[module]?.[plain] ?? (plain === "promises" || plain !== name ? inside(module, plain) : absent(module, plain))];
}

export function moduleOf(module, names) {
  const known = Object.fromEntries(names.map((spec) => standIn(module, spec)));
  const whole = known[CONSTRUCTORS[module]];
  return whole ? Object.assign(whole, known) : known;
}

// Adds to a module that is simulated what it lacks. Numbers are also among its `constants`.
export function complete(module, whole, names) {
  const lacking = moduleOf(module, names);
  for (const [name, value] of Object.entries(lacking)) {
    if (!(name in whole)) whole[name] = value;
    if (typeof value === "number") whole.constants[name] = value;
  }
  return lacking;
}
