/* Save the stage as SVG, PNG or CSV. The drawing is copied with its computed colours, so that the file is self-contained. */

import { h, s, set, told } from "./dom.js";
import { WORDS } from "./words.js";

const MARGIN = 16;
const [HEAD, FOOT] = [34, 24];
const PAINT = ["fill", "stroke", "color", "stop-color"];
const STYLE = [
  "fill-opacity", "stroke-opacity", "opacity", "stroke-width", "stroke-dasharray", "stroke-linecap", "font-family",
  "font-size", "font-weight", "text-anchor", "dominant-baseline", "paint-order", "visibility", "display",
];

export function savers({ root, stage, name, csv, tell, reset }) {
  const file = (suffix) => `${name().toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-")}.${suffix}`;
  const picture = () => new XMLSerializer().serializeToString(pictureOf(root, stage, name()));
  const choices = {
    SVG: () => download(file("svg"), new Blob([picture()], { type: "image/svg+xml" })),
    PNG: async () => download(file("png"), await raster(picture())),
    CSV: csv && (() => download(file("csv"), new Blob([table(csv())], { type: "text/csv" }))),
  };
  const menu = h("details", { class: "tfm-menu" }, h("summary", { class: "tfm-button", "data-action": "more", "aria-label": WORDS.more }, "⋯"));
  const list = h("div", { class: "tfm-row" });
  for (const [kind, save] of Object.entries(choices)) {
    const run = async () => {
      menu.open = false;
      await save();
      tell(told(WORDS.saved, { kind }));
    };
    if (save) list.append(h("button", { type: "button", class: "tfm-button", "data-action": `save-${kind.toLowerCase()}`, onclick: run }, told(WORDS.save, { kind })));
  }
  reset.addEventListener("click", () => (menu.open = false));
  list.append(reset);
  menu.append(list);
  menu.addEventListener("focusout", (event) => menu.contains(event.relatedTarget) || (menu.open = false));
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    menu.open = false;
    menu.firstChild.focus();
  });
  return menu;
}

function download(name, blob) {
  const url = URL.createObjectURL(blob);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export const table = (rows) =>
  rows.map((row) => row.map((cell) => (/[",\n]/.test(cell) ? `"${String(cell).replaceAll('"', '""')}"` : cell)).join(",")).join("\r\n");

export function pictureOf(root, stage, title) {
  const box = stage.getBoundingClientRect();
  const from = sourceOf(root);
  const [width, height] = [box.width + 2 * MARGIN, box.height + 2 * MARGIN + HEAD + (from ? FOOT : 0)];
  const ink = getComputedStyle(root);
  const out = s("svg", { xmlns: "http://www.w3.org/2000/svg", width, height, viewBox: `0 0 ${width} ${height}` });
  out.append(s("rect", { width, height, fill: plain(ink.backgroundColor) }));
  const line = (y, size, words) => out.append(s("text", { "font-family": ink.fontFamily, fill: plain(ink.color), x: MARGIN, y, "font-size": size, "font-weight": size > 12 && 650 }, words));
  line(MARGIN + 14, 16, title);
  if (from) line(height - MARGIN, 12, from);
  const place = (at) => ({ x: at.left - box.left + MARGIN, y: at.top - box.top + MARGIN + HEAD });
  for (const part of stage.querySelectorAll(":not(svg, svg *)")) out.append(boxOf(part, place));
  for (const svg of stage.querySelectorAll("svg")) {
    if (!svg.checkVisibility()) continue;
    const at = svg.getBoundingClientRect();
    const copy = svg.cloneNode(true);
    paint(svg, copy);
    set(copy, { ...place(at), width: at.width, height: at.height, overflow: "visible" });
    out.append(copy);
  }
  for (const words of textsOutside(stage)) out.append(...linesOf(words).map(({ text: line, at }) => written(words.parentElement, line, at, place)));
  for (const input of stage.querySelectorAll("select, input[type=checkbox]")) {
    if (!input.checkVisibility()) continue;
    const at = input.getBoundingClientRect();
    const chosen = input.type === "checkbox" ? "☐☑"[+input.checked] : input.selectedOptions[0]?.text ?? "";
    out.append(written(input, chosen, { x: at.x + (input.type === "checkbox" ? 0 : 9), y: at.y, height: at.height }, place));
  }
  return out;
}

/* The source of the drawing: the book's title and the page's address, without what a reader typed. */
function sourceOf(root) {
  const book = root.closest(".tfm-widget") && document.querySelector('meta[property="og:site_name"]')?.content;
  return book && [book, location.host && location.host + location.pathname].filter(Boolean).join(" · ");
}

/* Background and border of an HTML element; then the length of a bar, a linear gradient as wide as its background-size. */
function boxOf(part, place) {
  const style = getComputedStyle(part);
  const { width, height, ...at } = part.getBoundingClientRect().toJSON();
  const look = { height, rx: parseFloat(style.borderRadius), stroke: plain(style.borderTopColor), "stroke-width": style.borderLeftWidth };
  const rect = (share, fill) => width * share > 0 && s("rect", { ...place(at), width: width * share, fill: plain(fill), ...look });
  const [, bar] = style.backgroundImage.match(/^linear-gradient\((.*?\)),/) ?? [];
  return s("g", {}, rect(1, style.backgroundColor), rect(bar && parseFloat(style.backgroundSize) / 100, bar));
}

function paint(from, to) {
  const style = getComputedStyle(from);
  set(to, { class: null, style: null });
  for (const name of PAINT) to.setAttribute(name, plain(style.getPropertyValue(name)));
  for (const name of STYLE) to.setAttribute(name, style.getPropertyValue(name));
  [...from.children].forEach((child, i) => paint(child, to.children[i]));
}

function* textsOutside(stage) {
  const walker = document.createTreeWalker(stage, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode;
    if (node.data.trim() && !node.parentElement.closest("svg, select, .tfm-hidden")) yield node;
  }
}

/* Split a node's text into lines, with the position of each. */
function linesOf(node) {
  const [lines, range] = [[], document.createRange()];
  for (const { 0: word, index } of node.data.matchAll(/\S+/g)) {
    range.setStart(node, index);
    range.setEnd(node, index + word.length);
    const { x, y, right, height } = range.getBoundingClientRect();
    const last = lines.at(-1);
    if (last && Math.abs(last.at.y - y) < height / 2) Object.assign(last, { text: `${last.text} ${word}`, at: { ...last.at, width: right - last.at.x } });
    else lines.push({ text: word, at: { x, y, height, width: right - x } });
  }
  return lines;
}

/* Set the width as measured in the page: the viewer's fonts may differ. */
function written(node, text, at, place) {
  const style = getComputedStyle(node);
  const { x, y } = place({ left: at.x, top: at.y });
  const size = parseFloat(style.fontSize);
  const look = { "font-family": style.fontFamily, "font-size": size, "font-weight": style.fontWeight, fill: plain(style.color) };
  const wide = at.width > 0 && { textLength: at.width.toFixed(1), lengthAdjust: "spacingAndGlyphs" };
  return s("text", { x, y: y + at.height / 2 + size * 0.35, ...look, ...wide }, text);
}

/* Convert any CSS colour to rgb(…), which every SVG viewer understands. */
let pixel;
function plain(colour) {
  if (/^(none|url|rgb|$)/.test(colour)) return colour.replaceAll('"', "");
  pixel ??= h("canvas").getContext("2d", { willReadFrequently: true });
  pixel.clearRect(0, 0, 1, 1);
  pixel.fillStyle = colour;
  pixel.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = pixel.getImageData(0, 0, 1, 1).data;
  return a === 255 ? `rgb(${r},${g},${b})` : `rgba(${r},${g},${b},${(a / 255).toFixed(3)})`;
}

async function raster(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = h("canvas", { width: image.width * 2, height: image.height * 2 });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
