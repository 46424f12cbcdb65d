/* Elements without a framework.
   h("button", { class, onclick }, ...children)   an HTML element; keys "on…" are listeners, false/null leaves out
   s("rect", { x, y }, ...children)               an SVG element
   set(node, attrs)                               change attributes in place, touching only those that differ
   onWidth(node, width => …)                      now and whenever its width changes; returns a stop function
   widthOf(words, 13)                             pixels of the widest of these words at that size
   uid("hatch")                                   an id that no other widget has
   short("unbelievable", 8)                       "unbelie…"                                                     */

const SVG = "http://www.w3.org/2000/svg";
let serial = 0;

export const h = (tag, attrs, ...children) => fill(document.createElement(tag), attrs, children);
export const s = (tag, attrs, ...children) => fill(document.createElementNS(SVG, tag), attrs, children);
export const uid = (stem) => `tfm-${stem}-${++serial}`;
export const short = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

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

let ruler;
export function widthOf(words, size = 13) {
  ruler ??= h("canvas", {}).getContext("2d");
  ruler.font = `600 ${size}px ${getComputedStyle(document.documentElement).getPropertyValue("--tfm-sans") || "sans-serif"}`;
  return Math.max(...words.map((word) => ruler.measureText(word).width));
}

export function onWidth(node, tell) {
  let last = 0;
  const observer = new ResizeObserver(([entry]) => {
    const width = Math.floor(entry.contentRect.width);
    if (width > 0 && width !== last) tell((last = width));
  });
  observer.observe(node);
  return () => observer.disconnect();
}
