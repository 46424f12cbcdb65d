/* Widget runtime of a page without a kernel: reads the widget state that the build embedded, and gives each
   widget the front-end side of the anywidget contract. Works from a server and from a file.

   A module is taken from globalThis.tfmWidgets[name] if the page loaded it as a script, else imported from
   the `_esm` text of its state. If anything fails, the static figure stays, with a message below it. */

import { hashOf } from "../src/kit/link.js";

const STATE = 'script[type="application/vnd.jupyter.widget-state+json"]';
const LINKS = ["LinkModel", "DirectionalLinkModel"];
const FAILED = "This widget did not start in your browser. The picture shows it as it was when the book was built.";

/** A widget's state with events; all views of one widget share one model. */
export class Model {
  #state;
  #listeners = new Map();

  constructor(state, widget_manager) {
    this.#state = state;
    this.widget_manager = widget_manager;
  }

  get(key) {
    return this.#state[key];
  }

  /** Return a copy of the whole state, so that it can be set again. */
  copy() {
    return { ...this.#state };
  }

  /** `set(key, value)` or `set({ key: value, … })`; notifies the listeners of changed traits. */
  set(key, value) {
    const changes = typeof key === "object" ? key : { [key]: value };
    const changed = Object.keys(changes).filter((name) => !same(this.#state[name], changes[name]));
    for (const name of changed) this.#state[name] = changes[name];
    for (const name of changed) this.#tell(`change:${name}`, changes[name]);
    if (changed.length) this.#tell("change");
  }

  on(event, listener) {
    for (const name of event.split(/\s+/)) {
      if (!this.#listeners.has(name)) this.#listeners.set(name, new Set());
      this.#listeners.get(name).add(listener);
    }
  }

  /** `off()`, `off(event)` or `off(event, listener)`, as in Jupyter. */
  off(event, listener) {
    const names = event ? event.split(/\s+/) : [...this.#listeners.keys()];
    for (const name of names) {
      if (listener) this.#listeners.get(name)?.delete(listener);
      else this.#listeners.delete(name);
    }
  }

  // There is no kernel to save to or to send to.
  save_changes() {}
  send() {}

  #tell(event, value) {
    for (const listener of [...(this.#listeners.get(event) ?? [])]) listener(this, value);
  }
}

/** Compare two trait values: by identity, else as JSON; bytes are compared as bytes. */
export function same(a, b) {
  if (Object.is(a, b)) return true;
  if (typeof a !== "object" || typeof b !== "object" || !a || !b) return false;
  if (ArrayBuffer.isView(a) || ArrayBuffer.isView(b)) {
    if (!ArrayBuffer.isView(a) || !ArrayBuffer.isView(b) || a.byteLength !== b.byteLength) return false;
    const [x, y] = [a, b].map((view) => new Uint8Array(view.buffer, view.byteOffset, view.byteLength));
    return x.every((byte, i) => byte === y[i]);
  }
  return JSON.stringify(a) === JSON.stringify(b);
}

/** Return the state of an embedded model with its binary traits restored as DataViews. */
export function withBuffers({ state, buffers = [] }) {
  for (const { path, data, encoding } of buffers) {
    const bytes = encoding === "hex" ? data.match(/../g).map((pair) => parseInt(pair, 16)) : [...atob(data)].map((c) => c.charCodeAt(0));
    const place = path.slice(0, -1).reduce((at, key) => at[key], state);
    place[path.at(-1)] = new DataView(Uint8Array.from(bytes).buffer);
  }
  return state;
}

const idOf = (reference) => reference.replace(/^IPY_MODEL_/, "");

/** Create the models of an embedded state, by id, with jslink and jsdlink between them connected. */
export function modelsOf({ state }) {
  const models = new Map();
  const manager = { get_model: async (reference) => models.get(idOf(reference)) };
  for (const [id, embedded] of Object.entries(state)) models.set(id, new Model(withBuffers(embedded), manager));
  for (const [id, { model_name }] of Object.entries(state)) {
    if (!LINKS.includes(model_name)) continue;
    const ends = ["source", "target"].map((end) => {
      const [reference, trait] = models.get(id).get(end);
      return { model: models.get(idOf(reference)), trait };
    });
    if (ends.every((end) => end.model)) link(...ends, model_name === "LinkModel");
  }
  return models;
}

function link(source, target, both) {
  const copy = (from, to) => () => to.model.set(to.trait, from.model.get(from.trait));
  const forth = copy(source, target);
  forth();
  source.model.on(`change:${source.trait}`, forth);
  if (both) target.model.on(`change:${target.trait}`, copy(target, source));
}

async function moduleOf(model, registry) {
  const found = registry[model.get("_module")] ?? (await imported(model.get("_esm")));
  return typeof found === "function" ? found() : found;
}

const imports = new Map();
function imported(code) {
  if (!code || /^https?:/.test(code)) throw new Error("no module for this widget in the page");
  if (!imports.has(code)) {
    const url = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
    imports.set(code, import(url).then((module) => module.default ?? module));
  }
  return imports.get(code);
}

const initialised = new WeakMap();

/** Show `model` in the container `box`; on failure keep the static figure and show a message. */
export async function show(box, model, registry) {
  const el = document.createElement("div");
  try {
    if (!model) throw new Error("no state for this widget in the page");
    const module = await moduleOf(model, registry);
    if (!initialised.has(model)) initialised.set(model, module.initialize?.({ model }));
    await initialised.get(model);
    style(model.get("_css"));
    box.append(el);
    const [first, signal] = [model.copy(), new AbortController().signal];
    try {
      await module.render({ model, el, signal });
    } catch (error) {
      if (!globalThis.tfmKit?.refuse?.(model)) throw error;
      el.replaceChildren(); // the state of a link caused the error: start the widget again without it
      model.set(first);
      await module.render({ model, el, signal });
    }
    box.querySelectorAll(":scope > .tfm-still, :scope > noscript").forEach((still) => still.remove());
    for (const name of ["role", "aria-label"]) box.removeAttribute(name); // the card itself is a group with that name
    box.dataset.state = "live";
  } catch (error) {
    el.remove();
    box.dataset.state = "failed";
    const note = document.createElement("p");
    note.className = "tfm-widget-failed";
    note.setAttribute("role", "status");
    note.textContent = FAILED;
    box.append(note);
    console.warn("A widget failed:", error);
  }
}

const styled = new Set();
function style(css) {
  if (!css || styled.has(css)) return;
  styled.add(css);
  document.head.append(Object.assign(document.createElement("style"), { textContent: css }));
}

const LEFT = `tfm-left ${globalThis.location?.pathname}`; // kept per tab, until it is closed
const LONG = 4000; // letters of a value that is not a setting but a result of the model
const SHORT = 60; // limit for unchanged values, which are stored too, since a change of another may change them

/** Return the state of each widget when this tab left the page, by key: a link to it (kit/link.js). */
function left() {
  try {
    return JSON.parse(sessionStorage.getItem(LEFT)) ?? {};
  } catch {
    return {}; // storage is not allowed here
  }
}

/** Return a link to a widget's changed state; undefined if it is unchanged. */
function linkTo(key, now, first) {
  const changed = (trait) => !same(now[trait], first[trait]);
  if (!Object.keys(now).some(changed)) return undefined;
  const lengthOf = (trait) => JSON.stringify(now[trait])?.length ?? LONG;
  return hashOf(key, Object.entries(now).filter(([trait]) => lengthOf(trait) < (changed(trait) ? LONG : SHORT)));
}

function keep(links) {
  try {
    sessionStorage.setItem(LEFT, JSON.stringify(links));
  } catch {
    // storage failed: the widget starts from its initial state next time
  }
}

/** Return whether the page was reloaded or reached by "back": then the reader's changes take precedence over the link that opened it. */
function returned() {
  return /reload|back/.test(globalThis.performance?.getEntriesByType?.("navigation")[0]?.type);
}

/** Deliver such a link to a widget as if the reader had opened it in the page; the address stays unchanged. */
function comeBack(link) {
  const { href } = location;
  try {
    history.replaceState(null, "", link);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } finally {
    history.replaceState(null, "", href);
  }
}

/** Show every widget of the page: visible ones at once, the others as soon as the browser is idle. */
export async function start(page = document, registry = (globalThis.tfmWidgets ??= {})) {
  const embedded = page.querySelector(STATE);
  if (!embedded) return;
  const models = modelsOf(JSON.parse(embedded.textContent));
  const boxes = [...page.querySelectorAll(".tfm-widget[data-model]")];
  const inSight = (box) => {
    const { top, bottom } = box.getBoundingClientRect();
    return bottom > -200 && top < innerHeight + 200;
  };
  const idle = () => new Promise((go) => (globalThis.requestIdleCallback ?? setTimeout)(go, { timeout: 500 }));
  const links = left();
  const shown = []; // for a widget that is not shown yet, the stored link is kept
  const here = async (box) => {
    const model = models.get(box.dataset.model);
    const [key, first] = [`${model?.get("_module")}.${boxes.indexOf(box)}`, model?.copy()];
    await show(box, model, registry);
    if (links[key] && (returned() || !location.hash.startsWith(`#tfm=${key}`))) comeBack(links[key]);
    if (model) shown.push(() => (links[key] = linkTo(key, model.copy(), first)));
  };
  globalThis.addEventListener?.("pagehide", () => {
    for (const note of shown) note();
    keep(links);
  });
  const [first, later] = [boxes.filter(inSight), boxes.filter((box) => !inSight(box))];
  for (const box of first) await here(box);
  for (const box of later) {
    await idle();
    await here(box);
  }
}

if (globalThis.document) start();
