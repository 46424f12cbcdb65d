/* Rows and links of words that can be focused.

   const row = tokenRow(ui, { tokens, name, label, kind: "q", onFocus, hover? });  row.update({ focus, weights? })
       a row that wraps; with weights, each word that has one shows it as a bar and a number
   const net = links(ui, { queries, keys, name, label, onFocus });            net.update({ focus, weights })
       queries left, keys right; the focused query's lines are as thick as its weights (weights: one row)
   Both are radio groups: Tab reaches the focused word, arrow keys move, pointing focuses.
   update takes tokens / queries / keys too, when the words change.

   typed(sentence, example, most)   the typed words, at most `most`; the example if nothing is typed  */

import { h, s, set, short, widthOf, onWidth } from "./dom.js";
import { clamp, fixed, range } from "./math.js";

const share = fixed(2);

/* As tfm_lib.widgets._typed.typed. */
export function typed(sentence, example, most) {
  const words = sentence.split(/\s+/).filter(Boolean);
  return { words: words.length ? words.slice(0, most) : example, own: words.length > 0, cut: words.length > most };
}

export function tokenRow(ui, { tokens, name, label, kind = "q", onFocus, hover }) {
  const el = h("div", { class: `tfm-tokens tfm-${kind}`, role: "radiogroup", "aria-label": label });
  const group = radios(el, { name, onFocus, hover });
  let words;
  const build = () => {
    words = tokens.map((word) => h("span", { class: "tfm-token" }, h("span", {}, word), h("i", {}), h("small", {})));
    el.replaceChildren(...words);
    group.adopt(words, tokens);
  };
  build();
  return {
    el,
    update({ focus, weights, tokens: next }) {
      if (next && next.join("\n") !== tokens.join("\n")) {
        tokens = next;
        build();
      }
      group.check(focus);
      el.classList.toggle("tfm-weighted", Boolean(weights));
      words.forEach((word, i) => {
        const weight = weights?.[i];
        word.style.setProperty("--w", weight || 0);
        word.lastChild.textContent = weight === undefined ? weights && "\u00a0".repeat(4) : share(weight);
        set(word, { "aria-label": weight === undefined ? tokens[i] : `${tokens[i]} ${share(weight)}` });
      });
    },
  };
}

const LINE = 27;

export function links(ui, { queries, keys, name, label, onFocus, most = 320 }) {
  const svg = s("svg", { class: "tfm-links", role: "radiogroup", "aria-label": label });
  const el = h("div", { class: "tfm-figure-box" }, svg);
  const group = radios(svg, { name, onFocus, hover: true });
  let left, right, lines, last;
  let width = 0;
  const build = () => {
    left = queries.map((word) => s("g", { class: "tfm-query-word" }, s("rect", { height: LINE, rx: 4 }), s("text", { "text-anchor": "end" }, short(word, 14))));
    right = keys.map((word) => s("text", { "aria-hidden": "true" }, short(word, 14)));
    lines = keys.map(() => s("path", { class: "tfm-link", "aria-hidden": "true" }));
    svg.replaceChildren(...lines, ...left, ...right);
    group.adopt(left, queries);
    if (width) layout(width);
  };
  const middle = (i, count) => 14 + (i + (Math.max(queries.length, keys.length) - count) / 2) * LINE;
  function layout(total) {
    width = Math.min(total, most);
    const reach = (words) => widthOf(words.map((word) => short(word, 14)), 14.5) + 14;
    const [a, b] = [reach(queries), width - reach(keys)];
    left.forEach((group, i) => {
      set(group.firstChild, { x: 0, y: middle(i, queries.length) - LINE / 2, width: a });
      set(group.lastChild, { x: a - 6, y: middle(i, queries.length) + 5 });
    });
    right.forEach((text, j) => set(text, { x: b + 6, y: middle(j, keys.length) + 5 }));
    svg.geometry = [a, b];
    set(svg, { width, height: Math.max(queries.length, keys.length) * LINE + 2 });
    if (last) update(last);
  }
  function update(now) {
    const changed = (next, present) => next && next.join("\n") !== present.join("\n");
    if (changed(now.queries, queries) || changed(now.keys, keys)) {
      [queries, keys] = [now.queries ?? queries, now.keys ?? keys];
      last = null;
      build();
    }
    last = now;
    const { focus, weights } = now;
    group.check(focus);
    if (!svg.geometry) return;
    const [a, b] = svg.geometry;
    const [y0, bend] = [middle(focus, queries.length), (b - a) * 0.4];
    lines.forEach((line, j) => {
      const weight = weights[j] || 0;
      const y1 = middle(j, keys.length);
      set(line, { d: `M${a} ${y0}C${a + bend} ${y0} ${b - bend} ${y1} ${b} ${y1}`, "stroke-width": (0.4 + 13 * weight).toFixed(2), "stroke-opacity": weight ? (0.2 + 0.7 * Math.sqrt(weight)).toFixed(2) : 0 });
      right[j].style.setProperty("--w", weight.toFixed(3));
    });
  }
  build();
  ui.until(onWidth(el, layout));
  return { el, update };
}

/* Roving focus for a radio group of any elements, HTML or SVG; adopt(nodes, labels, columns) if they form a grid. */
export function radios(el, { name, onFocus, hover = false }) {
  let items = [];
  let checked = -1;
  let across = 1;
  const indexOf = (event) => items.findIndex((item) => item.contains(event.target));
  const choose = (i) => i >= 0 && i !== checked && onFocus(i);
  set(el, {
    "data-control": name,
    onclick: (event) => choose(indexOf(event)),
    // Only a mouse that moves chooses: under one that rests, the page itself may move, as after an arrow key.
    onpointermove: (event) => hover && event.pointerType === "mouse" && choose(indexOf(event)),
    onkeydown(event) {
      const at = indexOf(event);
      const to = { ArrowDown: at + across, ArrowRight: at + 1, ArrowUp: at - across, ArrowLeft: at - 1, Home: 0, End: items.length - 1 }[event.key];
      if (to === undefined || at < 0) return;
      event.preventDefault();
      const next = clamp(to, 0, items.length - 1);
      items[next].focus();
      choose(next);
    },
  });
  return {
    adopt(nodes, labels, columns = 1) {
      items = nodes;
      across = columns;
      range(nodes.length).forEach((i) => set(nodes[i], { role: "radio", "aria-label": labels[i], "aria-checked": "false", tabindex: -1 }));
      checked = -1;
    },
    check(i) {
      if (i === checked) return;
      items.forEach((item, k) => set(item, { "aria-checked": String(k === i), tabindex: k === i ? 0 : -1 }));
      checked = i;
    },
  };
}
