/* Builds the widgets: node build.mjs → tfm_lib/widgets/static/

   <stem>/<widget>.js        a module with the kit inside, for Jupyter (anywidget's _esm)
   page/<stem>/<widget>.js   a classic script for the book's pages, which registers itself in globalThis.tfmWidgets
   page/kit.js               the kit as globalThis.tfmKit, once a page
   page/twin.js              the translator as globalThis.tfmTwin, which a page loads on its reader's wish
   page/storyteller.js       the decoder that writes stories as globalThis.tfmStoryteller, which a page loads on its reader's wish
   page/engine.js            the playground's engine as globalThis.tfmPlayground, which a page loads on its reader's wish
   page/write.js             the editor and the kernel's client, a module that a page loads when a reader first writes
   page/host.js              the page's runtime, if frontend/host/host.js exists
   widgets.css, page/widgets.css   colours and kit                                                              */

import { build, transform } from "esbuild";
import { existsSync } from "node:fs";
import { mkdir, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { assembled } from "./wat.mjs";

const here = import.meta.dirname ?? dirname(new URL(import.meta.url).pathname);
const source = join(here, "src");
const target = resolve(process.env.TFM_STATIC ?? join(here, "../tfm_lib/widgets/static"));
const tokens = join(here, "../tfm_lib/drawing/tokens.css");

const common = { bundle: true, minify: true, write: false, target: "es2022", charset: "utf8", logLevel: "warning", legalComments: "none" };

/* In a page the kit is a global, shared by all widgets. */
const kitFromPage = {
  name: "kit-from-page",
  setup(build) {
    build.onResolve({ filter: /\/kit\/index\.js$/ }, () => ({ path: "kit", namespace: "page" }));
    build.onLoad({ filter: /.*/, namespace: "page" }, () => ({ contents: "module.exports = globalThis.tfmKit" }));
  },
};

const widgets = await findWidgets();
const outputs = new Map(await Promise.all([...widgets.flatMap((name) => [forJupyter(name), forPage(name)]), kit(), ...withWorkers(), storyteller(), writing(), ...host()]));
const css = await styles();
outputs.set("widgets.css", css).set("page/widgets.css", css);
await write(outputs);
report(outputs);

async function findWidgets() {
  const files = (await readdir(source, { recursive: true })).map((file) => file.replaceAll("\\", "/")).sort();
  return files.filter((file) => /^[^/]+\/[^/]+\.js$/.test(file) && !/^(kit|twin|write)\//.test(file)).map((file) => file.slice(0, -3));
}

async function bundle(options) {
  const result = await build({ ...common, ...options });
  return result.outputFiles[0].text;
}

async function forJupyter(name) {
  const stdin = { contents: `export { default } from "./${name}.js"`, resolveDir: source };
  return [`${name}.js`, await bundle({ stdin, format: "esm" })];
}

async function forPage(name) {
  const contents = `import widget from "./${name}.js"; (globalThis.tfmWidgets ??= {})["${name}"] = widget;`;
  return [`page/${name}.js`, await bundle({ stdin: { contents, resolveDir: source }, format: "iife", plugins: [kitFromPage] })];
}

async function kit() {
  return ["page/kit.js", await bundle({ entryPoints: [join(source, "kit/index.js")], format: "iife", globalName: "globalThis.tfmKit" })];
}

function withWorkers() {
  return [withWorker("page/twin.js", "twin/index.js", "twin/worker.js", "tfmTwin"), withWorker("page/engine.js", "playground/engine/page.js", "playground/engine/worker.js", "tfmPlayground")];
}

/* The worker's code stands in the script as text: a page from a folder may start a worker only from that. */
async function withWorker(name, entry, worker, globalName) {
  const code = await bundle({ entryPoints: [join(source, worker)], format: "iife", globalName: `${globalName}Worker`, plugins: [assembled] });
  const asText = {
    name: "worker-as-text",
    setup(build) {
      build.onResolve({ filter: /-worker$/ }, () => ({ path: "worker", namespace: "text" }));
      build.onLoad({ filter: /.*/, namespace: "text" }, () => ({ contents: code, loader: "text" }));
    },
  };
  return [name, await bundle({ entryPoints: [join(source, entry)], format: "iife", globalName: `globalThis.${globalName}`, plugins: [asText] })];
}

async function storyteller() {
  return ["page/storyteller.js", await bundle({ entryPoints: [join(source, "twin/storyteller.js")], format: "iife", globalName: "globalThis.tfmStoryteller", plugins: [assembled] })];
}

async function writing() {
  return ["page/write.js", await bundle({ entryPoints: [join(source, "write/index.js")], format: "esm" })];
}

function host() {
  const entry = join(here, "host/host.js");
  return existsSync(entry) ? [bundle({ entryPoints: [entry], format: "iife" }).then((text) => ["page/host.js", text])] : [];
}

async function styles() {
  const colours = await readFile(tokens, "utf8");
  const kitStyle = await readFile(join(source, "kit/kit.css"), "utf8");
  return (await transform(colours + kitStyle, { loader: "css", minify: true, target: "es2022" })).code;
}

async function write(files) {
  for (const [name, text] of files) {
    const path = join(target, name);
    if (existsSync(path) && (await readFile(path, "utf8")) === text) continue;
    await mkdir(dirname(path), { recursive: true });
    await writeFile(`${path}.part`, text);
    await rename(`${path}.part`, path);
  }
  const present = (await readdir(target, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile() && !entry.name.endsWith(".part"));
  for (const entry of present) {
    const path = join(entry.parentPath ?? entry.path, entry.name);
    if (!files.has(relative(target, path).replaceAll("\\", "/"))) await rm(path, { force: true });
  }
}

function report(files) {
  for (const [name, text] of files) console.log(`${String(gzipSync(text, { level: 9 }).length).padStart(7)} bytes gzipped  ${name}`);
}
