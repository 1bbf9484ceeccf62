// What keys of `crypto.subtle` may be used for, and what is told of a key that is used for something else.
import { DOMException } from "thunderhead:dom_exception";

const ALL = ["encrypt", "decrypt", "sign", "verify", "deriveKey", "deriveBits", "wrapKey", "unwrapKey"];
const CIPHER = ["encrypt", "decrypt", "wrapKey", "unwrapKey"];
const DERIVE = ["deriveKey", "deriveBits"];
// Algorithms whose keys come in pairs.
export const PAIRS = ["ECDSA", "ECDH", "ED25519", "X25519", "RSASSA-PKCS1-V1_5", "RSA-PSS", "RSA-OAEP"];
const SIGN = { private: ["sign"], public: ["verify"] };
const AGREE = { private: DERIVE, public: [] };
const USAGES = {
  ...{ HMAC: { secret: ["sign", "verify"] }, PBKDF2: { secret: DERIVE }, HKDF: { secret: DERIVE }, "AES-KW": { secret: ["wrapKey", "unwrapKey"] } },
  ...{ "AES-GCM": { secret: CIPHER }, "AES-CBC": { secret: CIPHER }, "AES-CTR": { secret: CIPHER }, ECDH: AGREE, X25519: AGREE },
  ...{ ECDSA: SIGN, ED25519: SIGN, "RSASSA-PKCS1-V1_5": SIGN, "RSA-PSS": SIGN, "RSA-OAEP": { private: ["decrypt", "unwrapKey"], public: ["encrypt", "wrapKey"] } },
};
const wrong = (text) => new DOMException(text, "SyntaxError");

// Each once, in the standard's order.
export const inOrder = (usages) => ALL.filter((usage) => usages.includes(usage));

function check(usages, allowed, what) {
  const other = usages.find((usage) => !allowed.includes(usage));
  if (other !== undefined) throw wrong(`Attempt to ${what} key with invalid usage "${other}".`);
}

export function checkImport(name, spelled, type, usages) {
  check(usages, USAGES[name][type], `import ${type} ${spelled}`);
  if (type !== "public" && !usages.length) throw wrong("Secret/private CryptoKeys must have at least one usage.");
}

export function checkNew(name, spelled, usages) {
  const halves = USAGES[name];
  check(usages, Object.values(halves).flat(), `generate ${spelled}`);
  if (halves.private && !usages.some((usage) => halves.private.includes(usage))) throw wrong("Attempt to generate asymmetric keys with no valid private key usages.");
  if (!usages.length) throw wrong("Secret/private CryptoKeys must have at least one usage.");
}

// Refuses a key that is for another algorithm or for something else.
export function checkUse(key, name, asked, usage) {
  const own = key.algorithm.name;
  if (own.toUpperCase() !== name) throw new DOMException(`Requested algorithm "${asked}" does not match this CryptoKey's algorithm "${own}".`, "InvalidAccessError");
  if (!key.usages.includes(usage)) throw new DOMException(`Requested key usage "${usage}" does not match any usage listed in this CryptoKey.`, "InvalidAccessError");
}

// What a JSON Web Key calls the algorithm, if it has a name for it.
export function algOf(name, { hash, length }) {
  const digits = hash?.name.slice(4);
  if (name === "HMAC") return `HS${digits}`;
  if (name.startsWith("AES")) return `A${length}${name.slice(4)}`;
  if (name === "ED25519") return "EdDSA";
  if (name === "RSA-OAEP") return digits === "1" ? name : `${name}-${digits}`;
  return { "RSASSA-PKCS1-V1_5": `RS${digits}`, "RSA-PSS": `PS${digits}` }[name];
}
