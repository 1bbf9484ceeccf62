// Serves worker.ts with miniflare. Arguments: the folder with node_modules, and a folder for what is stored.
import { createRequire } from "node:module";
import path from "node:path";

const [modules, stored] = process.argv.slice(2);
const require = createRequire(path.resolve(modules, "package.json"));
const { buildSync } = require("esbuild");
const { Miniflare } = require("miniflare");

const bundled = buildSync({
  entryPoints: [path.join(import.meta.dirname, "worker.ts")],
  bundle: true,
  format: "esm",
  external: ["cloudflare:*"],
  write: false,
});
const consumer = { maxBatchTimeout: 1, maxRetries: 3 };
const miniflare = new Miniflare({
  modules: true,
  script: bundled.outputFiles[0].text,
  compatibilityDate: "2026-01-01",
  r2Buckets: { PHOTOS: "photos" },
  queueProducers: { UPLOADS: "uploads" },
  queueConsumers: { uploads: { ...consumer, retryDelay: 5, deadLetterQueue: "uploads-dead" }, "uploads-dead": consumer },
  durableObjects: { ORGANIZATION: { className: "Organization", useSQLite: true } },
  workflows: { CLASSIFY: { name: "classify", className: "Classify" } },
  r2Persist: path.join(stored, "r2"),
  durableObjectsPersist: path.join(stored, "objects"),
  workflowsPersist: path.join(stored, "workflows"),
});
console.log(`listening on http://${(await miniflare.ready).host}`);
