/* Heat-map of a matrix: queries are rows, keys are columns.

   const map = heatmap(ui, { rows, cols, name, label, onFocus, onToggle?, onPaint?, describe, text? });
   ui.stage.append(map.el);
   map.update({ values, hidden?, broken?, row?, max?, rows?, cols? });

   rows, cols       words; queries and keys           name   its data-control       label   what it shows, for aria
   values[i][j]     0 … max (1)                       hidden[i][j]  hatched         broken[i]  red, cross-hatched row
   row              the focused query: its row and word are highlighted; none without it
   slides           a hatch slides over a cell that becomes hidden, from the right
   text(i, j)       text of a cell if there is room (null: nothing)
   letters          the most letters of a word's label; three fewer on a narrow card
   describe(i, j)   the cell in words: tooltip and aria, "query it, key animal: 0.44"
   onFocus(i, j)    a cell got the keyboard focus or was pointed at (pointing: only if no onToggle)
   onToggle(i, j)   click, Enter or Space; onPaint(i, j): the mouse was dragged into another cell
   A touch may be the start of scrolling the page: only a tap, which is a click, has an effect.
   Arrow keys move, Home and End go along the row. The layout follows its measured width.           */

import { h, s, set, short, told, uid, widthOf, onWidth } from "./dom.js";
import { clamp, range } from "./math.js";
import { ramp } from "./scale.js";
import { WORDS } from "./words.js";

const TILT = 48; // degrees, for labels that are wider than their column
const SLANTED = 16; // pixels from one slanted label to the next: of narrower columns some stay without
const [LEAN, RISE] = [Math.cos((TILT * Math.PI) / 180), Math.sin((TILT * Math.PI) / 180)];
const AXIS = 18; // height of the line that names the axes

const isNew = (of, name, now) => of[name] !== now && ((of[name] = now), true);

export function heatmap(ui, { rows, cols, name, label, onFocus, onToggle, onPaint, describe, text, slides, most = 52, letters: whole = 10 }) {
  const [hatch, cross] = [uid("hatch"), uid("cross")];
  const field = s("g", {});
  const light = s("rect", { class: "tfm-row-light", rx: 4 });
  const ring = s("rect", { class: "tfm-ring", rx: 4 });
  const axes = [
    s("text", { class: "tfm-axis tfm-q", y: 12, x: 0, role: "columnheader" }, WORDS.queries), // header of the row labels
    s("text", { class: "tfm-axis tfm-k", y: 12, "aria-hidden": "true" }, WORDS.keys),
  ];
  const svg = s("svg", { class: `tfm-heatmap${onToggle ? " tfm-editable" : ""}${slides ? " tfm-slides" : ""}`, role: "grid", "aria-label": label, "data-control": name });
  svg.append(s("defs", {}, stripes(hatch, "tfm-hatch", false), stripes(cross, "tfm-cross", true)));
  svg.append(axes[1], field, light, ring);
  svg.style.setProperty("--hatch", `url(#${hatch})`);
  svg.style.setProperty("--cross", `url(#${cross})`);
  const el = h("div", { class: "tfm-figure-box" }, svg);

  let cells, heads, tops, last;
  let size = 0;
  let width = 0;
  let at = [0, 0];

  function build() {
    heads = rows.map((_, i) => s("text", { class: "tfm-word", "text-anchor": "end", role: "rowheader", "data-row": i }));
    tops = cols.map(() => s("text", { class: "tfm-word", role: "columnheader" }));
    cells = rows.map((_, i) => cols.map((_, j) => cells?.[i]?.[j] ?? cell(i, j))); // those that were there stay
    const lines = rows.map((_, i) => s("g", { role: "row" }, heads[i], cells[i].map(({ node }) => node)));
    field.replaceChildren(s("g", { role: "row" }, axes[0], tops), ...lines);
    at = [clamp(at[0], 0, rows.length - 1), clamp(at[1], 0, cols.length - 1)];
    if (width) layout(width);
  }

  function cell(i, j) {
    const rect = s("rect", { class: "tfm-cell" });
    const slip = slides && s("rect", { class: "tfm-slip" });
    const words = text && s("text", { class: "tfm-in", "text-anchor": "middle" });
    return { rect, slip, words, node: s("g", { role: "gridcell", tabindex: -1, "data-i": i, "data-j": j }, rect, slip, words) };
  }

  /* Label rows and columns as long as the cells stay large enough. */
  function measure(total) {
    const letters = total < 420 ? whole - 3 : whole;
    const fit = (left, longest) => {
      const size = clamp(Math.floor((total - left - 2) / cols.length), 3, most);
      if (longest <= size - 2) return { left, size, rise: 20, over: 0, labelled: true, letters };
      const over = longest * LEAN; // overhang of the last slanted label
      const less = clamp(Math.floor((total - left - 2 - Math.max(0, over - size / 2)) / cols.length), 3, most);
      return { left, size: less, rise: longest * RISE + 10, over, labelled: less >= 9, letters };
    };
    const widest = (words) => widthOf(words.map((word) => short(word, letters)));
    const plan = fit(widest(rows) + 10, widest(cols));
    return plan.labelled ? plan : { ...fit(2, 0), labelled: false };
  }

  function layout(total) {
    width = total;
    const plan = measure(total);
    const { left, over, labelled, letters } = plan;
    size = plan.size;
    const top = AXIS + plan.rise;
    const gap = size > 12 ? 2 : size > 6 ? 1 : 0;
    set(axes[1], { x: Math.max(left, 72) });
    rows.forEach((word, i) => {
      heads[i].textContent = short(word, letters);
      set(heads[i], { x: left - 8, y: top + (i + 0.5) * size + 4.5, "aria-label": word, "fill-opacity": labelled ? null : 0 });
    });
    cols.forEach((word, j) => {
      const [x, y] = [left + (j + 0.5) * size, top - 7];
      const turn = over ? { "text-anchor": "start", transform: `translate(${x + 3} ${y}) rotate(${-TILT})`, x: 0, y: 0 } : { "text-anchor": "middle", x, y, transform: null };
      tops[j].textContent = short(word, letters);
      set(tops[j], { ...turn, "aria-label": word, "fill-opacity": labelled && !(over && j % Math.ceil(SLANTED / size)) ? null : 0 });
    });
    cells.forEach((row, i) =>
      row.forEach(({ rect, slip, words }, j) => {
        const [x, y] = [left + j * size, top + i * size];
        set(rect, { x, y, width: size - gap, height: size - gap, rx: size > 12 ? 3 : 0 });
        if (slip) set(slip, { y, height: size - gap });
        if (words) set(words, { x: x + (size - gap) / 2, y: y + (size - gap) / 2 + 4 });
      }),
    );
    const [wide, high] = [Math.min(total, left + cols.length * size + over), top + rows.length * size + 3];
    set(svg, { width: wide, height: high, viewBox: `0 0 ${wide} ${high}` }); // in print it may be narrower, and nothing is measured there
    set(light, { x: left - 2, width: cols.length * size - gap + 4, height: size - gap + 4 });
    svg.classList.toggle("tfm-tiny", size < 10);
    svg.geometry = { left, top, size, gap };
    if (last) update(last);
    placeRing();
  }

  function update(now) {
    const words = JSON.stringify([rows, cols]);
    [rows, cols] = [now.rows ?? rows, now.cols ?? cols];
    if (JSON.stringify([rows, cols]) !== words) {
      last = null;
      if (rows.length !== cells.length || cols.length !== cells[0].length) build();
      else layout(width); // other words for the same cells, which ease
    }
    last = now;
    const { values, hidden, broken, row, max = 1 } = now;
    cells.forEach((line, i) =>
      line.forEach((each, j) => {
        const look = `tfm-cell${broken?.[i] ? " tfm-broken" : hidden?.[i]?.[j] ? " tfm-masked" : ""}`;
        const t = hidden?.[i]?.[j] || broken?.[i] ? 0 : values[i][j] / max;
        if (each.slip && svg.geometry) {
          const { left, size, gap } = svg.geometry;
          const lies = look.endsWith("masked");
          set(each.slip, { x: left + (lies ? j : cols.length) * size - (lies ? 0 : gap), width: lies ? size - gap : 0 });
        }
        if (isNew(each, "look", look)) set(each.rect, { class: look });
        if (isNew(each, "t", t)) ramp(each.node, t);
        const words = describe(i, j);
        if (isNew(each, "said", words)) set(each.node, { "aria-label": words });
        if (!each.words) return;
        const inside = String(text(i, j) ?? "");
        if (isNew(each, "inside", inside)) each.words.textContent = inside;
        set(each.words, { display: size >= Math.max(25, 5 + 7.25 * inside.length) ? null : "none" }); // at 12 px a sign is 7.2 wide
      }),
    );
    heads.forEach((head, i) => {
      const looks = { "tfm-focus-word": i === row, "tfm-bad-word": broken?.[i] };
      head.classList.remove(...Object.keys(looks)); // so that the class order depends on the state, not on its history
      head.classList.add(...Object.keys(looks).filter((look) => looks[look]));
    });
    const top = svg.geometry?.top;
    if (size) set(light, row >= 0 ? { y: top - 2 + row * size, display: null } : { display: "none" });
    rove();
  }

  const rove = () => {
    const target = cells[at[0]][at[1]].node;
    if (svg.roving !== target) {
      svg.roving?.setAttribute("tabindex", -1);
      target.setAttribute("tabindex", 0);
      svg.roving = target;
    }
  };
  const placeRing = () => {
    const { left, top, size, gap } = svg.geometry;
    set(ring, { x: left + at[1] * size - 1.5, y: top + at[0] * size - 1.5, width: size - gap + 3, height: size - gap + 3 });
  };
  const goTo = (i, j) => {
    at = [i, j];
    rove();
    placeRing();
  };
  const placeOf = ({ target }) => {
    const group = target.closest("[data-j]");
    if (group) return [Number(group.dataset.i), Number(group.dataset.j)];
    const head = target.closest("[data-row]");
    return head && [Number(head.dataset.row), null];
  };
  const hint = (i, j) => ui.tip(cells[i][j].rect, describe(i, j));

  function press(event) {
    const place = placeOf(event);
    if (!place) return;
    if (place[1] === null) return onFocus?.(place[0], at[1]);
    goTo(...place);
    onFocus?.(...place);
    onToggle?.(...place);
    hint(...place);
    if (onPaint && !finger) painting = place.join();
  }
  let painting = null;
  let finger = false;
  const listen = {
    onpointerdown(event) {
      finger = event.pointerType === "touch";
      if (!finger) press(event);
    },
    onclick(event) {
      if (finger) press(event);
    },
    onpointermove(event) {
      if (event.pointerType === "touch") return;
      const place = placeOf(event);
      if (!place || place[1] === null) return ui.tip();
      if (painting && event.buttons && painting !== place.join()) {
        painting = place.join();
        goTo(...place);
        onPaint(...place);
      } else if (!onToggle && !event.buttons) onFocus?.(...place);
      hint(...place);
    },
    onpointerleave: () => ui.tip(),
    onfocusin(event) {
      const place = placeOf(event);
      if (!place || place[1] === null) return;
      goTo(...place);
      onFocus?.(...place);
      if (svg.querySelector(":focus-visible")) hint(...place);
    },
    onfocusout: () => ui.tip(),
    onkeydown(event) {
      const [i, j] = at;
      const moves = { ArrowUp: [i - 1, j], ArrowDown: [i + 1, j], ArrowLeft: [i, j - 1], ArrowRight: [i, j + 1], Home: [i, 0], End: [i, cols.length - 1] };
      const to = moves[event.key];
      if (to) {
        event.preventDefault();
        cells[clamp(to[0], 0, rows.length - 1)][clamp(to[1], 0, cols.length - 1)].node.focus();
      } else if (onToggle && (event.key === " " || event.key === "Enter")) {
        event.preventDefault();
        onToggle(i, j);
        queueMicrotask(() => queueMicrotask(() => hint(i, j)));
      }
    },
  };
  set(el, listen); // not on the SVG: with a focus listener it would become a tab stop itself
  const release = () => (painting = null);
  for (const end of ["pointerup", "pointercancel"]) {
    addEventListener(end, release);
    ui.until(() => removeEventListener(end, release));
  }
  build();
  ui.until(onWidth(el, layout));
  return { el, update };
}

function stripes(id, look, crossed) {
  return s(
    "pattern",
    { id, width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    s("rect", { class: `${look}-ground`, width: 6, height: 6 }),
    s("path", { class: look, d: crossed ? "M0 0V6M0 0H6" : "M0 0V6" }),
  );
}

/* The legend of a heat-map: weight 0 → max, and the meaning of the patterns. legend({ max: 1, masked: "hidden, weight 0" });
   steps: [[weight, name], …] instead of the scale, for weights that stand for something else */
export function legend({ max = 1, unit = WORDS.weight, masked, steps }) {
  const hatch = uid("hatch");
  const swatch =
    masked &&
    s("svg", { width: 14, height: 14, "aria-hidden": "true" }, s("defs", {}, stripes(hatch, "tfm-hatch", false)), s("rect", { width: 14, height: 14, rx: 3, style: `fill:url(#${hatch})` }));
  const bar = (t, x, width) => {
    const rect = s("rect", { class: "tfm-cell", x, width, height: 12 });
    ramp(rect, t);
    return rect;
  };
  const shade = (width, ...bars) => s("svg", { width, height: 12, "aria-hidden": "true" }, bars);
  const scale = steps
    ? steps.flatMap(([t, name]) => [shade(12, bar(t, 0, 12)), h("span", {}, name)])
    : [shade(96, ...range(12).map((i) => bar(i / 11, i * 8, 8.5))), h("span", {}, String(max))];
  return h(
    "div",
    { class: "tfm-legend", "aria-hidden": "true" }, // visual only: the cells have their own descriptions
    h("span", {}, steps ? unit : told(WORDS.zero, { unit })),
    scale,
    swatch,
    masked && h("span", {}, masked),
  );
}
