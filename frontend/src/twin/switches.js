/* Parts of the machine to switch off: switches(kit, { words, config, recorded, onChange }) → { el, show(off), asBroken(off) }
   `off` is a text, names with commas between: "positions,encoder.0,decoder.1.cross_attention.3".
   recorded[name].changed of recorded.trials test sentences are translated differently without that part.               */

const PARTS = ["positions", "scale", "causal", "cross", "residuals"];

export const namesIn = (off) => off.split(",").filter(Boolean);

/* What Transformer.broken expects. */
export function broken(off) {
  const names = namesIn(off);
  const depth = (count) => new Set(names.filter((name) => name.split(".").length === count));
  return { ...Object.fromEntries(PARTS.map((part) => [part, names.includes(part)])), layers: depth(2), heads: depth(4) };
}

export function switches({ h, indexed, range, told }, { words, config, recorded, onChange }) {
  const names = new Map(); // name → the node that switches it
  let now = [];
  const flip = (name) => onChange((now.includes(name) ? now.filter((other) => other !== name) : [...now, name]).join(","));
  const share = (name) => recorded[name] && told(words.changes, { changed: recorded[name].changed, trials: recorded.trials });

  function toggle(name, label, more) {
    const input = h("input", { type: "checkbox", "data-control": name, onchange: () => flip(name) });
    names.set(name, (off) => (input.checked = !off));
    return h("div", {}, h("label", { class: "tfm-control tfm-toggle" }, input, h("span", {}, indexed(label)), h("small", {}, share(name) ?? "")), more);
  }
  function head(name, label) {
    const node = h("button", { type: "button", class: "tfm-switch", "data-control": name, "aria-label": `${label}, ${share(name) ?? ""}`, title: share(name), onclick: () => flip(name) }, label.match(/\d+$/)[0]);
    node.style.setProperty("--w", recorded[name] ? recorded[name].changed / recorded.trials : 0);
    names.set(name, (off) => {
      node.classList.toggle("tfm-gone", off);
      node.setAttribute("aria-pressed", String(!off));
    });
    return node;
  }
  const kinds = [["encoder", "self_attention"], ["decoder", "self_attention"], ["decoder", "cross_attention"]];
  const layers = range(config.n_layers);
  const parts = PARTS.map((part) => toggle(part, words.parts[part], part === "causal" && h("small", {}, words.why)));
  const whole = ["encoder", "decoder"].flatMap((stack) => layers.map((l) => toggle(`${stack}.${l}`, told(words.layer, { stack: words[stack], layer: l + 1 }))));
  const heads = kinds.flatMap(([stack, kind]) => layers.flatMap((l) => {
    const label = told(words.row, { kind: words[stack + kind], layer: l + 1 });
    return [h("span", { class: "tfm-caption" }, label), ...range(config.n_heads).map((k) => head(`${stack}.${l}.${kind}.${k}`, `${label}, ${words.head} ${k + 1}`))];
  }));
  const grid = h("div", { class: "tfm-switches", style: `grid-template-columns:auto repeat(${config.n_heads},minmax(20px,34px))` }, heads);
  const el = h("div", { class: "tfm-parts" }, h("div", { class: "tfm-columns" }, h("div", {}, parts), h("div", {}, whole)), h("p", { class: "tfm-caption" }, words.heads), grid);
  return {
    el,
    show(off) {
      now = namesIn(off);
      for (const [name, tell] of names) tell(now.includes(name));
    },
  };
}
