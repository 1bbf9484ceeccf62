// Modules that programs import, often through a package, and seldom use. Importing one is no mistake here; what it
// exports says by its name that it is not simulated when it is called or made.
const refusal = (module, name) => new Error(`${module}: ${name} is not simulated.`);

function absent(module, name) {
  const refuse = function () {
    throw refusal(module, name);
  };
  return Object.defineProperty(refuse, "name", { value: name });
}

export function moduleOf(module, names) {
  const known = Object.fromEntries(names.map((name) => [name, absent(module, name)]));
  return new Proxy(known, { get: (all, name) => all[name] });
}
