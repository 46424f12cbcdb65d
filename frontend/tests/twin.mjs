/* The twin for tests in node: bundled as for a page, with the shipped weights or those of another folder. */

import { build } from "esbuild";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { assembled } from "../wat.mjs";

const here = import.meta.dirname ?? new URL(".", import.meta.url).pathname;
const source = join(here, "../src/twin");
export const SHIPPED = join(here, "../../models/en-fr");

const contents = `
export * from "./translator.js"; export * from "./decoding.js"; export * from "./products.js"; export * from "./tokenizer.js";
export * from "./transformer.js"; export * from "./views.js"; export { default as kernel } from "./kernel.wat";`;

export async function twin() {
  const folder = await mkdtemp(join(tmpdir(), "twin-"));
  const outfile = join(folder, "twin.mjs");
  await build({ stdin: { contents, resolveDir: source }, bundle: true, format: "esm", target: "es2022", outfile, plugins: [assembled], logLevel: "warning" });
  const module = await import(pathToFileURL(outfile));
  await rm(folder, { recursive: true });
  return module;
}

export async function files(folder = SHIPPED) {
  const [config, tokenizer] = await Promise.all(["config.json", "tokenizer.json"].map(async (name) => JSON.parse(await readFile(join(folder, name), "utf8"))));
  return { config, tokenizer, bytes: new Uint8Array(await readFile(join(folder, "model.safetensors"))) };
}

/* What a generator returns. */
export function ended(generator) {
  let step = generator.next();
  while (!step.done) step = generator.next();
  return step.value;
}
