/* The twin and the writer for tests in node: bundled as for a page, with the shipped weights or those of another folder. */

import { build } from "esbuild";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { assembled } from "../wat.mjs";

const here = import.meta.dirname ?? new URL(".", import.meta.url).pathname;
const source = join(here, "../src/twin");
export const SHIPPED = join(here, "../../models/en-fr");

const contents = `
export * from "./translator.js"; export * from "./decoding.js"; export * from "./products.js"; export * from "./tokenizer.js";
export * from "./transformer.js"; export * from "./views.js"; export * from "./writer.js"; export { default as kernel } from "./kernel.wat";`;

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

/* Do each task { do: a name in DO, … }, which gives JSON and Float32Arrays: folder/<i>.json and, one behind the other, <i>.f32. */
export async function done(DO, tasks, folder) {
  for (const [i, { do: name, ...task }] of tasks.entries()) {
    const floats = [];
    await writeFile(join(folder, `${i}.json`), JSON.stringify(DO[name](task, floats) ?? null));
    await writeFile(join(folder, `${i}.f32`), Buffer.concat(floats.map(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength))));
  }
}

/* What a generator returns. */
export function ended(generator) {
  let step = generator.next();
  while (!step.done) step = generator.next();
  return step.value;
}
