/* Parts of a machine to switch off, each with a share beside it.

   const off = switches({ parts, rows, share, onFlip });   off.el;   off.show(names, enabled)
       parts   [[name, label, note?]]            a checkbox each
       rows    [[label, [[name, label], …]]]     buttons in a grid, the darker the larger their share; one stop of the Tab key
       share   name => [share, "words"], or nothing
       names   those that are off; onFlip(name) when one is to change                                                      */

import { h, indexed, set } from "./dom.js";
import { clamp } from "./math.js";

export function switches({ parts, rows, share, onFlip }) {
  const tell = new Map(); // name → show it on or off
  const inputs = parts.map(([name, label, note]) => {
    const input = h("input", { type: "checkbox", "data-part": name, onchange: () => onFlip(name) });
    tell.set(name, (off) => (input.checked = !off));
    return h("div", {}, h("label", { class: "tfm-control tfm-toggle" }, input, h("span", {}, indexed(label)), h("small", {}, share(name)?.[1])), note && h("small", {}, note));
  });
  const across = rows[0][1].length;
  const buttons = [];
  const cells = rows.flatMap(([row, own]) => [h("span", { class: "tfm-caption" }, row), ...own.map(([name, label], k) => {
    const [part, words] = share(name) ?? [0, ""];
    const node = h("button", { type: "button", class: "tfm-switch", "data-part": name, "aria-label": `${label}, ${words}`, title: words, tabindex: buttons.length ? -1 : 0, style: `--w:${part}`, onclick: () => onFlip(name) }, k + 1);
    tell.set(name, (off) => {
      node.classList.toggle("tfm-gone", off);
      set(node, { "aria-pressed": String(!off) });
    });
    buttons.push(node);
    return node;
  })]);
  const grid = h("div", { class: "tfm-switches", style: `grid-template-columns:auto repeat(${across},minmax(20px,34px))`, onkeydown: walk }, cells);
  function walk(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = buttons.indexOf(event.target);
    const next = clamp(at + step, 0, buttons.length - 1);
    [[at, -1], [next, 0]].forEach(([i, tabindex]) => set(buttons[i], { tabindex }));
    buttons[next].focus();
  }
  return {
    grid,
    el: h("div", { class: "tfm-parts" }, inputs),
    show: (names) => tell.forEach((show, name) => show(names.includes(name))),
  };
}
