/* Plot: axes on which lines, bars and points are drawn.

   const p = plot(ui, { x: { label, domain, log? }, y: {…}, height = 220, low?, square?, label });   label: for aria; low: its height on a narrow card;
                         a logarithmic axis adds “log scale” to its label
   ui.stage.append(p.el);
   const line = p.line({ colour: "one", dash?, name? });  line([[x, y], …]);      name: at the line's right end; not moved
                         out of the way of other names, so leave out a name that would cover something
   const bars = p.bars({ colour: "two" });                  bars([[x0, x1, y], …]);      a histogram: math.histogram
   const rule = p.rule({ colour: "broken", name? });        rule({ x: 3 }, "√d_k") or rule({ y: 1, below? }); rule(null) hides
   const dot  = p.dot({ colour: "two", r?, name? });      dot([x, y], "label", left?); dot(null) hides
   const drag = p.handle({ control: "query", colour, label, name?, step?, along?, onmove: ([x, y]) => … });  drag([x, y])
                         a point to drag, or to move with the arrow keys (Shift: ten times as far);
                         along: "x" for horizontal movement only; the up arrow increases;
                         name: its name for a screen reader, if the label beside it is too short
   p.domain({ x: [0, 8], y: [0, 1] });                      new limits; everything is redrawn
   p.custom((at) => …)                                      your own marks: called at each layout, at.x(…), at.y(…) in
                                                            pixels; draw them in p.layer (an SVG group)
   Colours are named: query key value encoder decoder broken ink soft.                                 */

import { h, instant, s, set, told, widthOf, write, onWidth } from "./dom.js";
import { scale } from "./scale.js";
import { clamp, fixed, general } from "./math.js";
import { WORDS } from "./words.js";

const [TOP, RIGHT, BOTTOM, LEFT] = [26, 20, 40, 46];

export function plot(ui, { x, y, height = 220, low = height, square = false, label, most = 560 }) {
  const frame = s("g", { class: "tfm-axes", "aria-hidden": "true" });
  const layer = s("g", {});
  const svg = s("svg", { class: "tfm-plot", role: "img", "aria-label": label }, frame, layer);
  const el = h("div", { class: "tfm-figure-box" }, svg);
  const limits = { x: x.domain, y: y.domain };
  const redraws = [];
  const at = { x: null, y: null, width: 0, height: 0 };

  function layout(total) {
    at.width = Math.min(total, most);
    at.height = square ? at.width - LEFT - RIGHT + TOP + BOTTOM : low < height && ui.stage.clientWidth < 430 ? low : height;
    at.x = scale(limits.x, [LEFT, at.width - RIGHT], x.log);
    at.y = scale(limits.y, [at.height - BOTTOM, TOP], y.log);
    set(svg, { width: at.width, height: at.height });
    drawAxes(frame, at, x, y);
    redraws.forEach((redraw) => redraw());
  }

  /* Keep a mark's last arguments, so that a new width or new limits can redraw it. */
  function mark(node, draw) {
    let last;
    const redraw = () => at.x && last && draw(...last);
    layer.append(node);
    redraws.push(redraw);
    return (...told) => {
      last = told;
      if (!at.x && wide()) layout(wide()); // just shown: its width is available before onWidth reports it
      else redraw();
    };
  }
  const wide = () => Math.floor(el.getBoundingClientRect().width);
  const inside = ([a, b]) => [at.x(a), at.y(b)];
  ui.until(onWidth(el, layout));

  return {
    el,
    layer,
    at,
    line({ colour = "ink", dash, name }) {
      const path = s("path", { class: "tfm-line", style: paint(colour), "stroke-dasharray": dash });
      const words = s("text", { class: "tfm-mark-label", style: paint(colour), "text-anchor": "end" }, name);
      return mark(s("g", {}, path, name && words), (points) => {
        const pixels = points.filter(([, b]) => Number.isFinite(at.y(b))).map(inside);
        set(path, { d: pixels.map(([a, b], i) => `${i ? "L" : "M"}${a.toFixed(1)} ${b.toFixed(1)}`).join("") });
        if (name && pixels.length) set(words, to(pixels.at(-1)[0], pixels.at(-1)[1] - 7));
      });
    },
    bars({ colour = "ink" }) {
      const group = s("g", { class: "tfm-bars", style: paint(colour) });
      return mark(group, (bars) => {
        while (group.childElementCount < bars.length) group.append(s("rect", {}));
        while (group.childElementCount > bars.length) group.lastChild.remove();
        bars.forEach(([a, b, top], i) => {
          const [left, up] = inside([a, Math.min(top, at.y.domain[1])]);
          const wide = at.x(b) - left;
          const base = at.height - BOTTOM;
          set(group.children[i], { x: left.toFixed(1), y: up.toFixed(1), width: Math.max(0.5, wide > 4 ? wide - 1 : wide).toFixed(1), height: Math.max(0, base - up).toFixed(1) });
        });
      });
    },
    rule({ colour = "ink", name }) {
      const line = s("path", { class: "tfm-line tfm-thin", style: paint(colour), "stroke-dasharray": "5 4" });
      const words = s("text", { class: "tfm-mark-label", style: paint(colour) }, name);
      return mark(s("g", {}, line, words), (place, text = name) => {
        set(line, { display: place ? null : "none" });
        write(words, place ? (text ?? "") : "");
        if (!place) return forget(line, words);
        const across = place.y !== undefined;
        const [a, b] = inside([place.x ?? at.x.domain[0], place.y ?? at.y.domain[0]]);
        set(line, { d: across ? `M${LEFT} ${b}L${at.width - RIGHT} ${b}` : `M${a} ${TOP}L${a} ${at.height - BOTTOM}` });
        set(words, across ? { ...to(at.width - RIGHT, place.below ? b + 14 : b - 5), "text-anchor": "end" } : beside(a, 5, TOP + 10, text, at.width));
      });
    },
    dot({ colour = "ink", r = 5, name }) {
      const circle = s("circle", { class: "tfm-dot", r, style: paint(colour) });
      const words = s("text", { class: "tfm-mark-label", style: paint(colour) }, name);
      return mark(s("g", {}, circle, words), (place, text = name, left) => {
        set(circle, { display: place ? null : "none" });
        write(words, place ? (text ?? "") : "");
        if (!place) return forget(circle, words);
        const [a, b] = inside(place);
        set(circle, { cx: a, cy: b });
        set(words, beside(a, r + 4, b - r - 1, text, at.width, left));
      });
    },
    handle: (options) => handle(ui, { mark, at, svg, inside }, options),
    custom(draw) {
      redraws.push(() => draw(at));
      if (at.x) draw(at);
    },
    domain(next) {
      const same = Object.entries(next).every(([axis, ends]) => ends.every((end, i) => end === limits[axis][i]));
      if (same) return;
      Object.assign(limits, next);
      if (at.x) layout(wide() || at.width);
    },
  };
}

const paint = (colour) => `--c:var(--tfm-${colour})`;

const PLACES = ["d", "transform", "cx", "cy", "text-anchor"];

/* Clear a hidden mark's attributes: the drawing must depend on the state alone. */
const forget = (...nodes) => nodes.forEach((node) => PLACES.forEach((name) => node.removeAttribute(name)));

const to = (x, y) => ({ transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` }); // unlike x and y, CSS can ease it

/* Place words at the height y, `gap` pixels beside a mark at x: on its right, unless only the left has room, or `left` asks for it and it has. */
function beside(x, gap, y, words, width, left) {
  const wide = words ? widthOf([words], 12.5) + gap : 0;
  const flip = left ? x - wide > LEFT : x + wide > width && x > width - x;
  return { ...to(flip ? x - gap : x + gap, y), "text-anchor": flip ? "end" : "start" };
}

function drawAxes(frame, at, x, y) {
  const [low, right] = [at.height - BOTTOM, at.width - RIGHT];
  const name = (axis) => (axis.log ? told(WORDS.log, { axis: axis.label }) : axis.label);
  const parts = [s("path", { class: "tfm-axis-line", d: `M${LEFT} ${TOP}V${low}H${right}` })];
  for (const tick of at.x.ticks(Math.max(3, Math.floor(at.width / 90)))) {
    parts.push(s("path", { class: "tfm-axis-line", d: `M${at.x(tick)} ${low}v4` }), s("text", { x: at.x(tick), y: low + 17, "text-anchor": "middle" }, general(tick)));
  }
  for (const tick of at.y.ticks(4)) {
    parts.push(s("path", { class: "tfm-grid", d: `M${LEFT} ${at.y(tick)}H${right}` }), s("text", { x: LEFT - 7, y: at.y(tick) + 4, "text-anchor": "end" }, general(tick)));
  }
  const names = [s("text", { class: "tfm-axis", x: right, y: low + 34, "text-anchor": "end" }), s("text", { class: "tfm-axis", x: 2, y: 13 })];
  [x, y].forEach((axis, i) => write(names[i], name(axis)));
  frame.replaceChildren(...parts, ...names);
}

function handle(ui, { mark, at, svg, inside }, { control, colour = "one", label, name = label, step, along, onmove, r = 9 }) {
  const words = s("text", { class: "tfm-mark-label tfm-strong", style: paint(colour), "aria-hidden": "true" }, label);
  const knob = s("g", { class: "tfm-handle", role: "slider", tabindex: 0, "aria-label": name, "data-control": control, style: paint(colour) },
    s("circle", { class: "tfm-halo", r: r + 9 }), s("circle", { class: "tfm-dot", r }));
  set(svg, { role: "group" }); // a plot without handles has no parts for a screen reader
  let place = [0, 0];
  const up = (far) => (along === "x" ? [far, 0] : [0, far]);
  const say = fixed(2);
  const move = ([a, b]) => {
    const [x0, x1] = at.x.domain;
    const [y0, y1] = at.y.domain;
    onmove([clamp(a, x0, x1), clamp(b, y0, y1)].map((value) => +value.toFixed(3)));
  };
  const follow = (event) => {
    const box = svg.getBoundingClientRect();
    move([at.x.invert(event.clientX - box.left), at.y.invert(event.clientY - box.top)]);
  };
  set(knob, {
    onpointerdown(event) {
      event.preventDefault();
      knob.focus();
      knob.setPointerCapture(event.pointerId);
      instant(knob, true); // what a hand drags does not lag behind it
    },
    onlostpointercapture: () => instant(knob, false),
    onpointermove: (event) => knob.hasPointerCapture(event.pointerId) && follow(event),
    onkeydown(event) {
      const unit = (step ?? (at.x.domain[1] - at.x.domain[0]) / 40) * (event.shiftKey ? 10 : 1);
      const to = { ArrowLeft: [-unit, 0], ArrowRight: [unit, 0], ArrowUp: up(unit), ArrowDown: up(-unit) }[event.key];
      if (!to) return;
      event.preventDefault();
      move([place[0] + to[0], place[1] + to[1]]);
    },
  });
  return mark(s("g", {}, words, knob), (now) => {
    place = now;
    const [a, b] = inside(now);
    set(knob, {
      transform: `translate(${a.toFixed(1)} ${b.toFixed(1)})`,
      "aria-valuemin": at.x.domain[0],
      "aria-valuemax": at.x.domain[1],
      "aria-valuenow": now[0],
      "aria-valuetext": along ? String(+now[0].toPrecision(4)) : told(WORDS.at, { x: say(now[0]), y: say(now[1]) }),
    });
    set(words, beside(a, r + 5, b - r - 2, label, at.width));
  });
}
