/* Create and update DOM elements without a framework.
   h("button", { class, onclick }, ...children)   an HTML element; keys "on…" are listeners, false/null are left out
   s("rect", { x, y }, ...children)               an SVG element
   set(node, attrs)                               change attributes in place, touching only those that differ
   onWidth(node, width => …)                      called now, whenever the width changes, and when a font has loaded that text is
                                                  measured in; returns a stop function
   widthOf(words, 13)                             pixels of the widest of these words at that size
   uid("hatch")                                   an id that no other widget has
   short("unbelievable", 8)                       "unbelie…"
   told("{n} of {all}", { n: 1, all: 3 })         "1 of 3"; where a value is a node, a list of what to append
   indexed("d_model and d_ff")                    its pieces, with <sub>model</sub>
   retext(node, "words")         set its text only if it changes: a screen reader would announce it again
   renew(node, "words", node2)   the same for several children
   morph(node, …children)        make these its children by changing those that are there, so that what moved eases there; they
                                 must have no listeners. Lists that grow and shrink need groups of their own
   write(text, "∂h_T/∂x_t")                       the same in an SVG <text>, changed only if the text changes
   many(["{count} word", "{count} words"], 1)     "1 word": the form for one, or for any other count              */

const SVG = "http://www.w3.org/2000/svg";
let serial = 0;

export const h = (tag, attrs, ...children) => fill(document.createElement(tag), attrs, children);
export const s = (tag, attrs, ...children) => fill(document.createElementNS(SVG, tag), attrs, children);
export const uid = (stem) => `tfm-${stem}-${++serial}`;
export const short = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

export function told(template, values) {
  const parts = template.split(/[{}]/).map((part, i) => (i % 2 ? values[part] || (values[part] === 0 ? 0 : "") : part));
  return parts.some((part) => typeof part === "object") ? parts.flat().filter((part) => part !== "") : parts.join("");
}
export const many = (forms, count) => told(forms[count === 1 ? 0 : 1], { count });

const INDEX = /_(\w+)/; // split by it, a text has an index at each odd position
export const indexed = (text) => text.split(INDEX).map((part, i) => (i % 2 ? h("sub", {}, part) : part));
export const retext = (node, text) => node.textContent === text || (node.textContent = text);
export function renew(node, ...parts) {
  const fresh = h("div", {}, parts);
  if (fresh.innerHTML !== node.innerHTML) node.replaceChildren(...fresh.childNodes);
}
export function morph(node, ...children) {
  const wanted = children.flat().filter((child) => child != null && child !== false).map((child) => (child.nodeType ? child : document.createTextNode(child)));
  wanted.forEach((next, i) => {
    const now = node.childNodes[i];
    if (!now) return node.append(next);
    if (now.nodeName !== next.nodeName) return now.replaceWith(next);
    if (!now.attributes) return retext(now, next.textContent);
    for (const { name } of [...now.attributes]) if (!next.hasAttribute(name)) now.removeAttribute(name);
    for (const { name, value } of next.attributes) set(now, { [name]: value });
    morph(now, ...next.childNodes);
  });
  while (node.childNodes.length > wanted.length) node.lastChild.remove();
}
export function write(node, text) {
  if (node.written === text) return;
  node.written = text;
  const parts = text.split(INDEX).map((part, i) => (i ? s("tspan", i % 2 ? { dy: 3, "font-size": "0.8em" } : { dy: -3 }, part) : part));
  node.replaceChildren(...parts);
}

function fill(node, attrs, children) {
  set(node, attrs ?? {});
  node.append(...children.flat().filter((child) => child != null && child !== false));
  return node;
}

export function set(node, attrs) {
  for (const [key, value] of Object.entries(attrs)) {
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (value == null || value === false) node.removeAttribute(key);
    else {
      const text = value === true ? "" : String(value);
      if (node.getAttribute(key) !== text) node.setAttribute(key, text);
    }
  }
  return node;
}

let ruler, family;
const widths = new Map(); // each text is measured once: an event must not wait for a style
const layouts = new Set();
globalThis.document?.fonts?.addEventListener("loadingdone", () => {
  widths.clear();
  layouts.forEach((again) => again());
});

export function widthOf(words, size = 13) {
  const width = (word) => {
    const key = `${size} ${word}`;
    if (!widths.has(key)) {
      ruler ??= h("canvas", {}).getContext("2d");
      family ??= getComputedStyle(document.documentElement).getPropertyValue("--tfm-sans") || "sans-serif";
      ruler.font = `600 ${size}px ${family}`;
      widths.set(key, ruler.measureText(word).width);
    }
    return widths.get(key);
  };
  return Math.max(...words.map(width));
}

/* While it is on, nothing in the node's card eases. */
export const instant = (node, on) => node.closest(".tfm-card")?.classList.toggle("tfm-instant", on);

export function onWidth(node, tell) {
  let last = 0;
  /* A new layout is no change of state: nothing eases into it. */
  const again = () => {
    if (!last) return;
    instant(node, true);
    tell(last);
    requestAnimationFrame(() => requestAnimationFrame(() => instant(node, false)));
  };
  const observer = new ResizeObserver(([entry]) => {
    const width = Math.floor(entry.contentRect.width);
    if (width === last || width <= 0) return;
    last = width;
    again();
  });
  observer.observe(node);
  layouts.add(again);
  return () => {
    observer.disconnect();
    layouts.delete(again);
  };
}
