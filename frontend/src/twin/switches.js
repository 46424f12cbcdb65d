/* Switches for parts of a model, each with its share of changed translations. The kit is passed to it.

   const off = switches(kit, { words, shape, names, counts, onFlip });   off.nodes are the elements;   off.show(names)
       words   the templates of a live translator
       shape   [layers, heads]
       counts  { trials, name: changed, … }, or nothing
       onFlip  (name) called to switch a part                                                                          */

export function switches(kit, { words, shape: [layers, heads], counts: { trials, ...changed }, onFlip }) {
  const { h, range, told } = kit;
  const depth = range(layers);
  const chapter = h(globalThis.tfmKit ? "a" : "i", { href: "masking.html", "data-action": "chapter" }, words.chapter); // a notebook has no such page
  const parts = Object.entries(words.parts).map(([name, label]) => [name, label, name === "causal" && told(words.why, { chapter })]);
  const stacks = Object.entries(words.layers).flatMap(([stack, label]) => depth.map((l) => [`${stack}.${l}`, told(label, { layer: l + 1 })]));
  const rows = Object.entries(words.rows).flatMap(([kind, label]) => depth.map((l) => {
    const [[stack, at], row] = [kind.split("."), told(label, { layer: l + 1 })];
    return [row, range(heads).map((k) => [`${stack}.${l}.${at}_attention.${k}`, told(words.one, { row, head: k + 1 })])];
  }));
  const share = (name) => trials && [changed[name] / trials, told(words.changes, { changed: changed[name], trials })];
  const { el, grid, show } = drawn(kit, { parts: [...parts, ...stacks], rows, share, onFlip });
  return { nodes: [el, h("p", { class: "tfm-caption" }, words.heads), grid], show };
}

/* parts   [[name, label, note?]]            a checkbox each
   rows    [[label, [[name, label], …]]]     buttons in a grid, darker for a larger share; one tab stop
   share   name => [share, "words"], or nothing                                                                          */
function drawn({ clamp, h, indexed, set }, { parts, rows, share, onFlip }) {
  const tell = new Map(); // name → function that shows it on or off
  const inputs = parts.map(([name, label, note]) => {
    const input = h("input", { type: "checkbox", autocomplete: "off", "data-part": name, onchange: () => onFlip(name) });
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
  const grid = h("div", { class: "tfm-switches", style: `grid-template-columns:auto repeat(${across},minmax(24px,34px))`, onkeydown: walk }, cells);
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
