/* Encoding widget: the sinusoidal encoding as an image, two of its rows as clocks, and the similarity of any two rows. */

import { below, card, clamp, fixed, general, h, many, mean, onWidth, player, plot, range, s, set, sub, told, uid } from "../kit/index.js";

const WORDS = {
  model: "model",
  curve: "Similarity of each position to position a",
  picture: "One row per position: −1 faint, 1 strong · click a row, or drag a",
  clock: "The hands of a and b, the fastest outside",
  alike: "Similarity: PE(a)·PE(b) divided by d/2 · drag b",
  base: "base",
  length: "length",
  told: "{a} · {b} · {places} apart → PE(a)·PE(b) = {product} of {most} · likeness {likeness}",
  places: ["{count} place", "{count} places"],
  hands: "{hands} hands · the fastest turns once in {fastest} places · the slowest in {slowest}",
  row: "Position a, a row of the encoding",
  other: "Position b",
  down: "{position} ↓",
  at: "{position} {number}",
  across: "number 0 … {last} →",
  dial: "Hands of position a = {a}: {angles}; of b = {b}: {others}; fastest first, at most four",
};

/* ω_i of every pair of features, as in tfm_lib.positional. */
export const frequencies = (d, base) => range(d / 2).map((i) => base ** ((-2 * i) / d));

export const row = (pos, omegas) => omegas.flatMap((omega) => [Math.sin(pos * omega), Math.cos(pos * omega)]);

/* PE(a)·PE(b) / (d/2) for positions at that distance: 1 at distance 0. */
export const likeness = (distance, omegas) => mean(omegas.map((omega) => Math.cos(distance * omega)));

export const wavelength = (omega) => (2 * Math.PI) / omega;

const share = fixed(2);
const places = (x) => (x < 100 ? general(x) : String(Math.round(x)));

function render({ model, el }) {
  const ui = card({ model, el, state: ["d_model", "base", "length", "value", "other"], fits: { value: below(1000), other: below(1000) } });
  const now = () => {
    const [d, base, n] = ["d_model", "base", "length"].map(ui.get);
    return { d, base, n, a: clamp(ui.get("value"), 0, n - 1), b: clamp(ui.get("other"), 0, n - 1) };
  };

  const map = picture(ui, (pos) => ui.set({ value: pos }));
  const dial = clock();
  const curve = plot(ui, {
    x: { label: ui.get("shared").position, domain: [0, ui.get("length") - 1] },
    y: { label: ui.get("shared").likeness, domain: [-1, 1] },
    height: 210,
    label: WORDS.curve,
  });
  const zero = curve.rule({ colour: "soft" });
  const own = curve.rule({ colour: "one" });
  const foot = curve.dot({ colour: "one", r: 0, name: "a" });
  const line = curve.line({ colour: "ink" });
  const drag = curve.handle({
    control: "other",
    colour: "two",
    label: "b",
    name: WORDS.other,
    step: 1,
    along: "x",
    r: 7,
    onmove: ([x]) => ui.set({ other: Math.round(x) }),
  });
  const box = (caption, figure) => h("div", {}, h("p", { class: "tfm-caption" }, caption), figure.el);
  ui.stage.append(
    h(
      "div",
      { class: "tfm-columns" },
      box(WORDS.picture, map),
      h("div", { style: "display:grid;gap:14px" }, box(WORDS.clock, dial), box(WORDS.alike, curve)),
    ),
  );
  player(ui, "value", { steps: () => now().n, pace: 300 });
  ui.slider("d_model", { label: sub("d", WORDS.model), values: ui.get("widths"), format: String });
  ui.slider("base", { label: WORDS.base, values: ui.get("bases"), format: (x) => String(x) });
  ui.slider("length", { label: WORDS.length, values: ui.get("lengths"), format: String });

  function draw() {
    const { d, base, n, a, b } = now();
    const omegas = frequencies(d, base);
    map.update({ d, base, n, a, b, omegas });
    dial.update({ omegas, a, b });
    curve.domain({ x: [0, n - 1] });
    zero({ y: 0 }, "");
    own({ x: a });
    foot([a, -1]);
    line(range(n).map((pos) => [pos, likeness(pos - a, omegas)]));
    const alike = likeness(b - a, omegas);
    drag([b, alike]);
    const apart = Math.abs(b - a);
    ui.say(
      h("div", {}, told(WORDS.told, { a: h("b", { class: "tfm-one" }, `a = ${a}`), b: h("b", { class: "tfm-two" }, `b = ${b}`), places: many(WORDS.places, apart), product: share((alike * d) / 2), most: d / 2, likeness: h("b", {}, share(alike)) })),
      h("div", {}, told(WORDS.hands, { hands: d / 2, fastest: places(wavelength(omegas[0])), slowest: places(wavelength(omegas.at(-1))) })),
    );
  }

  const csv = () => {
    const { d, base, n } = now();
    const omegas = frequencies(d, base);
    return [["position", ...range(d).map((c) => `${c % 2 ? "cos" : "sin"} ${c >> 1}`)], ...range(n).map((pos) => [pos, ...row(pos, omegas)])];
  };
  return ui.start(draw, { csv });
}

const [LEFT, TOP, HEIGHT, MOST] = [50, 24, 400, 420];

/* The encoding as a stretched image, one pixel per value. As a mask it mixes two colours of the page. */
function picture(ui, choose) {
  const canvas = h("canvas", {});
  const id = uid("encoding");
  const image = s("image", { preserveAspectRatio: "none", "image-rendering": "pixelated" });
  const fill = (colour, more) => s("rect", { style: `fill:var(--tfm-${colour})`, ...more });
  const fields = [fill("w0"), fill("w1", { mask: `url(#${id})` })];
  const mask = s("mask", { id, maskUnits: "userSpaceOnUse" }, image);
  const frames = ["one", "two"].map((colour, k) => s("rect", { fill: "none", "stroke-width": 2, style: `stroke:var(--tfm-${colour})`, "stroke-dasharray": k ? "6 4" : null, rx: 2 }));
  const names = ["one", "two"].map((kind) => s("text", { class: `tfm-${kind}`, "text-anchor": "end", "font-weight": 700 }, kind === "one" ? "a" : "b"));
  const halo = s("circle", { class: "tfm-halo", cx: LEFT - 20, r: 18 });
  const grip = s("g", { class: "tfm-handle", style: "--c:var(--tfm-one)" }, halo, names[0]);
  const axes = [s("text", { class: "tfm-axis", x: 0, y: 12 }, told(WORDS.down, { position: ui.get("shared").position })), s("text", { class: "tfm-axis", y: 12, "text-anchor": "end" })];
  const ticks = s("g", {});
  const svg = s("svg", { role: "slider", tabindex: 0, "aria-label": WORDS.row, "aria-orientation": "vertical", "data-control": "value", style: "cursor:pointer" });
  svg.append(s("defs", {}, mask), ...fields, ...axes, ticks, ...frames, names[1], grip);
  const el = h("div", { class: "tfm-figure-box" }, svg);
  let [width, last, drawn, held] = [0, null, "", false];

  const at = (pos) => TOP + (pos * (HEIGHT - TOP)) / last.n;
  const pointed = (event) => choose(clamp(Math.floor(((event.clientY - svg.getBoundingClientRect().top - TOP) * last.n) / (HEIGHT - TOP)), 0, last.n - 1));
  set(svg, {
    onpointerdown(event) {
      held = event.pointerType !== "touch" || grip.contains(event.target);
      if (!held) return; // a touch elsewhere may be the start of scrolling the page
      svg.setPointerCapture(event.pointerId);
      pointed(event);
    },
    onclick: pointed,
    onpointermove: (event) => held && svg.hasPointerCapture(event.pointerId) && pointed(event),
    onkeydown(event) {
      const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity }[event.key];
      if (!step) return;
      event.preventDefault();
      choose(clamp(last.a + step, 0, last.n - 1));
    },
  });

  function paint({ d, n, base, omegas }) {
    const key = `${d} ${n} ${base}`;
    if (key === drawn) return;
    drawn = key;
    Object.assign(canvas, { width: d, height: n });
    const context = canvas.getContext("2d");
    const data = context.createImageData(d, n);
    const pixels = new Uint32Array(data.data.buffer);
    const grey = (x) => 0xff000000 | (Math.round(127.5 * (1 + x)) * 0x10101);
    for (let i = 0; i < d / 2; i++) {
      for (let pos = 0; pos < n; pos++) {
        pixels[pos * d + 2 * i] = grey(Math.sin(pos * omegas[i]));
        pixels[pos * d + 2 * i + 1] = grey(Math.cos(pos * omegas[i]));
      }
    }
    context.putImageData(data, 0, 0);
    set(image, { href: canvas.toDataURL() });
  }

  function update(next) {
    last = next;
    const { d, n, a, b } = next;
    set(svg, { "aria-valuemin": 0, "aria-valuemax": n - 1, "aria-valuenow": a, "aria-valuetext": told(WORDS.at, { position: ui.get("shared").position, number: a }) });
    if (!width) return;
    paint(next);
    const [high, wide] = [(HEIGHT - TOP) / n, width - LEFT - 2];
    const area = { x: LEFT, y: TOP, width: wide, height: HEIGHT - TOP };
    for (const node of [image, mask, ...fields]) set(node, area);
    set(svg, { width, height: HEIGHT + 16 });
    set(axes[1], { x: width - 2 });
    axes[1].textContent = told(WORDS.across, { last: d - 1 });
    [a, b].forEach((pos, k) => {
      set(frames[k], { x: LEFT - 2, y: at(pos) - 1, width: wide + 4, height: Math.max(4, high + 2) });
      set(names[k], { x: LEFT - (k ? 6 : 16), y: at(pos) + high / 2 + 5 });
    });
    set(halo, { cy: at(a) + high / 2 });
    const step = n / 4;
    ticks.replaceChildren(...range(4).map((k) => s("text", { class: "tfm-axis", x: 0, y: at(k * step) + high / 2 + 4 }, String(k * step))));
  }

  ui.until(
    onWidth(el, (total) => {
      width = Math.min(total, MOST);
      if (last) update(last);
    }),
  );
  return { el, update };
}

const [SIZE, FEW] = [240, 8];

/* A rotation as a matrix, which CSS eases the shorter way round. */
export function turn(angle) {
  const [across, up] = [Math.sin(angle), Math.cos(angle)].map((x) => +x.toFixed(4));
  return `matrix(${up} ${across} ${-across} ${up} 0 0)`;
}

/* Each pair of features is the tip of a hand: sine to the right, cosine up, so that it starts at 12 and runs clockwise.
   A hand is drawn upright and turned. Few hands are lines from the centre; of many, each is joined to the next. */
function clock() {
  const rings = s("g", { fill: "none", style: "stroke:var(--tfm-line)" });
  const [cx, cy, outer] = [SIZE / 2, SIZE / 2 + 14, SIZE / 2 - 24];
  const hands = ["two", "one"].map((colour) => s("g", { transform: `translate(${cx} ${cy})`, style: `--c:var(--tfm-${colour})` }));
  const noon = s("text", { class: "tfm-axis", x: SIZE / 2, y: 12, "text-anchor": "middle" }, "0");
  const svg = s("svg", { role: "img", width: SIZE, height: SIZE + 14 }, noon, rings, hands);
  const el = h("div", { class: "tfm-figure-box" }, svg);
  let made = 0;

  function build(count) {
    made = count;
    rings.replaceChildren(...range(count).map((i) => s("circle", { cx, cy, r: radius(i) })));
    for (const group of hands) {
      const faint = count > FEW ? { "stroke-opacity": 0.4 } : {};
      const each = range(count).map((i) => s("g", {}, s("path", { class: "tfm-line tfm-thin", ...faint }), s("circle", { class: "tfm-dot", cy: -radius(i), r: count > 16 ? 2.6 : 5 })));
      group.replaceChildren(...each, s("text", { y: 4, class: "tfm-mark-label tfm-strong", "text-anchor": "middle" }));
    }
  }
  const radius = (i) => outer * (1 - (0.82 * i) / made);

  return {
    el,
    update({ omegas, a, b }) {
      if (omegas.length !== made) build(omegas.length);
      [b, a].forEach((pos, k) => {
        omegas.forEach((omega, i) => {
          const hand = hands[k].children[i];
          const aside = pos * ((omegas[i + 1] ?? omega) - omega); // of the next hand
          const far = made > FEW ? radius(Math.min(i + 1, made - 1)) : 0;
          set(hand, { transform: turn(pos * omega) });
          set(hand.firstChild, { d: `M0 ${-radius(i).toFixed(1)}L${(far * Math.sin(aside)).toFixed(1)} ${(-far * Math.cos(aside)).toFixed(1)}` });
        });
        const name = hands[k].lastChild;
        name.textContent = "ba"[k];
        const angle = pos * omegas[0];
        set(name, { transform: `${turn(angle)} translate(0 ${-outer - 13}) ${turn(-angle)}` }); // along the circle, and upright
      });
      const hours = (pos) => omegas.slice(0, 4).map((omega) => `${Math.round((((pos * omega) % (2 * Math.PI)) * 180) / Math.PI)}°`).join(", ");
      set(svg, { "aria-label": told(WORDS.dial, { a, b, angles: hours(a), others: hours(b) }) });
    },
  };
}

export default { render, words: WORDS };
