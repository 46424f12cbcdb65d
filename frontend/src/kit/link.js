/* Links that restore a widget's state: #tfm=<module>.<place on the page>&<trait>=<value>&…, with the traits that differ
   from the initial state; strings unchanged, other values as JSON.

   linked(key, first, { grows, fits })  → { changes, strange }, or null if the address is not a link to this widget: the link's
                                          changes to the initial state. Values of another form, or not among those
                                          that `fits` allows, are left out, and `strange` is set                         */

import { WORDS } from "./words.js";

const LONGEST = 20_000; // letters in an address; the longest that a widget writes has about 4000
let refused; // an address with which a widget failed to start

export function keyOf(model, el) {
  const here = el.closest(".tfm-widget");
  const place = here ? [...document.querySelectorAll(".tfm-widget")].indexOf(here) : 0;
  return `${model.get("_module")}.${place}`;
}

export function hashOf(key, entries) {
  const said = new URLSearchParams(entries.map(([trait, value]) => [trait, typeof value === "string" ? value : JSON.stringify(value)]));
  return `#tfm=${key}${entries[0] ? `&${said}` : ""}`;
}

/* What follows the page's address in a link to this state. */
export const hashFor = (key, state, first) =>
  hashOf(key, Object.entries(state).filter(([trait, value]) => JSON.stringify(value) !== JSON.stringify(first[trait])));

/* Copy the link to the clipboard, or if that is denied put it into the address bar, and report which. */
export async function linkTo(hash, tell) {
  const url = new URL(location.href);
  url.hash = hash;
  try {
    await navigator.clipboard.writeText(url.href);
    tell(WORDS.copied);
    return false;
  } catch {
    history.replaceState(null, "", url);
    tell(WORDS.inBar);
    return true;
  }
}

/* Mark this address as one with which the widget failed to start; return whether there was one to refuse. */
export function refuse(model) {
  if (refused === location.hash || !location.hash.startsWith(`#tfm=${model.get("_module")}.`)) return false;
  refused = location.hash;
  return true;
}

export function linked(key, first, { grows = [], fits = {} } = {}) {
  const [, named, said] = location.hash.match(/^#tfm=([^=&]+)&?(.*)$/s) ?? [];
  if (named !== key) return null;
  const changes = {};
  const given = location.hash !== refused && said.length <= LONGEST && read(said, first);
  let strange = !given;
  for (const [trait, value] of Object.entries(given || {})) {
    if (sameForm(value, first[trait], grows.includes(trait)) && (fits[trait]?.(value) ?? true)) changes[trait] = value;
    else strange = true;
  }
  return { changes, strange };
}

function read(said, first) {
  try {
    const known = [...new URLSearchParams(said)].filter(([trait]) => Object.hasOwn(first, trait)); // the rest is of another edition
    return Object.fromEntries(known.map(([trait, text]) => [trait, typeof first[trait] === "string" ? text : JSON.parse(text)]));
  } catch {
    return null;
  }
}

/* With `grows`, a list may have any length if each of its entries has the form of the first; what an empty one takes, `fits` says. */
export function sameForm(a, b, grows = false) {
  if (Array.isArray(b)) return Array.isArray(a) && (grows ? a.every((x) => !b.length || sameForm(x, b[0], true)) : a.length === b.length && b.every((x, i) => sameForm(a[i], x)));
  return typeof a === typeof b && (typeof a !== "number" || Number.isFinite(a));
}
