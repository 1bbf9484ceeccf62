// `node:url`.
import { URL, URLSearchParams } from "thunderhead:url";

export const fileURLToPath = (url) => new URL(url).pathname;
export const pathToFileURL = (path) => new URL(`file://${path}`);
export const domainToASCII = (name) => new URL(`http://${name}`).hostname;
export const format = (url) => String(url);
export { URL, URLSearchParams };
export default { URL, URLSearchParams, fileURLToPath, pathToFileURL, domainToASCII, format };
