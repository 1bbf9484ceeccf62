// Modules that programs import, often through a package, and seldom use. Importing one is no mistake here; what it
// exports says by its name that it is not simulated when it is called or made.
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

// The registered statuses and the methods that Node knows. Packages read these while they load, or to word an error.
const STATUS_CODES = {
  100: "Continue", 101: "Switching Protocols", 102: "Processing", 103: "Early Hints",
  200: "OK", 201: "Created", 202: "Accepted", 203: "Non-Authoritative Information", 204: "No Content", 205: "Reset Content",
  206: "Partial Content", 207: "Multi-Status", 208: "Already Reported", 226: "IM Used",
  300: "Multiple Choices", 301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified", 305: "Use Proxy",
  307: "Temporary Redirect", 308: "Permanent Redirect",
  400: "Bad Request", 401: "Unauthorized", 402: "Payment Required", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
  406: "Not Acceptable", 407: "Proxy Authentication Required", 408: "Request Timeout", 409: "Conflict", 410: "Gone", 411: "Length Required",
  412: "Precondition Failed", 413: "Payload Too Large", 414: "URI Too Long", 415: "Unsupported Media Type", 416: "Range Not Satisfiable",
  417: "Expectation Failed", 418: "I'm a Teapot", 421: "Misdirected Request", 422: "Unprocessable Entity", 423: "Locked",
  424: "Failed Dependency", 425: "Too Early", 426: "Upgrade Required", 428: "Precondition Required", 429: "Too Many Requests",
  431: "Request Header Fields Too Large", 451: "Unavailable For Legal Reasons",
  500: "Internal Server Error", 501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable", 504: "Gateway Timeout",
  505: "HTTP Version Not Supported", 506: "Variant Also Negotiates", 507: "Insufficient Storage", 508: "Loop Detected",
  509: "Bandwidth Limit Exceeded", 510: "Not Extended", 511: "Network Authentication Required",
};
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

export function moduleOf(module, names) {
  const one = (name) => DATA[module]?.[name] ?? (name === "promises" ? inside(module, name) : absent(module, name));
  const known = Object.fromEntries(names.map((name) => [name, one(name)]));
  const whole = known[CONSTRUCTORS[module]];
  return whole ? Object.assign(whole, known) : known;
}
