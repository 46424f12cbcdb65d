/* A link that opens a widget as it was left: #tfm=<module>.<place on the page>=<state as JSON>.
   Only a state of the same form as the present one is taken back, so a foreign or stale link does nothing. */

import { WORDS } from "./words.js";

export function keyOf(model, el) {
  const here = el.closest(".tfm-widget");
  const place = here ? [...document.querySelectorAll(".tfm-widget")].indexOf(here) : 0;
  return `${model.get("_module")}.${place}`;
}

export async function linkTo(key, state, tell) {
  const url = new URL(location.href);
  url.hash = `tfm=${key}=${encodeURIComponent(JSON.stringify(state))}`;
  try {
    await navigator.clipboard.writeText(url.href);
    tell(WORDS.copied);
  } catch {
    history.replaceState(null, "", url);
    tell(WORDS.inBar);
  }
}

export function restored(key, present, grows = []) {
  const [, named, json] = location.hash.match(/^#tfm=([^=]+)=(.*)$/) ?? [];
  if (named !== key) return null;
  try {
    const state = JSON.parse(decodeURIComponent(json));
    if (Array.isArray(state) || typeof state !== "object") return null; // a list has a length of its own
    const fits = Object.keys(present).filter((trait) => Object.hasOwn(state, trait) && sameForm(state[trait], present[trait], grows.includes(trait)));
    return Object.fromEntries(fits.map((trait) => [trait, state[trait]]));
  } catch {
    return null;
  }
}

/* With `grows`, a list may be of any length as long as each of its entries has the form of the first. */
export function sameForm(a, b, grows = false) {
  if (Array.isArray(b)) return Array.isArray(a) && (grows ? a.every((x) => sameForm(x, b[0], true)) : a.length === b.length && b.every((x, i) => sameForm(a[i], x)));
  return typeof a === typeof b && (typeof a !== "number" || Number.isFinite(a));
}
