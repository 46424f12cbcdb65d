/* A stage on which a film is drawn: every frame is a function of the time alone, so that it can be played, stopped and scrubbed.

   const stage = theatre(svg);  stage.frame(() => { … });     what a frame does not mention is not on the stage
   stage.word("cat", { x, y, text, size?, colour?, opacity?, anchor?, weight? })
   stage.strip("x 2", { x, y, numbers, wide?, high?, colour?, opacity?, top? })   a column of numbers, its foot at (x, y); above 0 coloured, below 0 grey
   stage.line("a", { from: [x, y], to: [x, y], wide?, colour?, opacity?, drawn?, arc?, over? })   a curve, `drawn` of it from 0 to 1; with `arc`
                                                                      it leaps that high above its start
   stage.box("layer 1", { x, y, width, height, colour, fill, opacity?, over? })   `over`: in front of the columns
   stage.bar("score", { x, y, width, height, colour, opacity? })
   stage.look([x, y, width, height], at?, whole?)                     where the camera looks; on a narrow stage it shows only the part
                                                                      around the place `at`, at full height, or more the nearer `whole` is to 1;
                                                                      it fades out at a side where there is more
   over(u, a, b)      0 before a, 1 after b, eased between            mix(p, q, u)   numbers or lists of numbers               */

import { clamp, range, s, set } from "../../kit/index.js";

export const over = (u, a, b) => {
  const x = clamp((u - a) / (b - a), 0, 1);
  return x * x * (3 - 2 * x);
};
export const mix = (p, q, u) => (Array.isArray(p) ? p.map((x, i) => mix(x, q[i], u)) : p + (q - p) * u);
const near = (x) => Math.round(100 * x) / 100;

export const NARROW = 480; // pixels, below which the stage is nearly square
const LEAST = 12; // pixels: no word is smaller, however far away the camera is

export function theatre(svg) {
  const actors = new Map();
  const layers = range(4).map(() => s("g", {})); // the ground, lines, columns and words, and what lies over them
  svg.append(...layers);
  let [now, scale, latest] = [0, 1];

  /* What is drawn later lies above, whatever was on the stage before. */
  function actor(key, make, layer) {
    if (!actors.has(key)) actors.set(key, { node: make() });
    const found = actors.get(key);
    const [ground, below] = [layers[layer], latest[layer]];
    const next = below ? below.nextSibling : ground.firstChild;
    if (found.node !== next) ground.insertBefore(found.node, next);
    latest[layer] = found.node;
    found.seen = now;
    return found;
  }
  const paint = (colour) => `var(--tfm-${colour})`;

  return {
    frame(draw) {
      now++;
      latest = layers.map(() => null);
      draw();
      for (const [key, { node, seen }] of actors) {
        if (seen === now) continue;
        node.remove();
        actors.delete(key);
      }
    },
    pixels: [760, 470], // of the drawing; set by who lays it out
    isNarrow() {
      return this.pixels[0] < NARROW;
    },
    look([x, y, width, height], at, whole = 0) {
      const wide = Math.min(width, (height * this.pixels[0]) / this.pixels[1]);
      const [from, to] = [x + 1, x + width - 1];
      if (at !== undefined) [x, width] = mix([clamp(at - wide / 2, x, x + width - wide), wide], [x, width], whole);
      svg.style.maskImage = `linear-gradient(90deg,${x > from ? "#0000," : ""}#000 7% 93%${x + width < to ? ",#0000" : ""})`;
      scale = Math.min(this.pixels[0] / width, this.pixels[1] / height);
      set(svg, { viewBox: [x, y, width, height].map(near).join(" ") });
    },
    word(key, { x, y, text, size = 20, colour = "ink", opacity = 1, anchor = "middle", weight = 500, over }) {
      const { node } = actor(key, () => s("text", {}), over ? 3 : 2);
      if (node.textContent !== text) node.textContent = text;
      set(node, { transform: `translate(${near(x)} ${near(y)})`, "text-anchor": anchor, style: `font-size:${near(Math.max(size, LEAST / scale))}px;fill:${paint(colour)};font-weight:${weight}`, opacity: near(opacity) });
    },
    strip(key, { x, y, numbers, wide = 16, high = 84, colour = "encoder", opacity = 1, top = 2.5 }) {
      const each = high / numbers.length;
      const { node } = actor(key, () => s("g", {}, s("rect", { class: "tfm-film-frame" }), numbers.map(() => s("rect", {}))), 2);
      set(node, { transform: `translate(${near(x - wide / 2)} ${near(y - high)})`, opacity: near(opacity) });
      const [frame, ...cells] = node.children;
      set(frame, { x: -1.5, y: -1.5, width: near(wide + 3), height: near(high + 3), rx: 3, style: `fill:var(--tfm-card);stroke:${paint(colour)};stroke-width:1` });
      cells.forEach((cell, i) => {
        const size = clamp(Math.abs(numbers[i]) / top, 0, 1);
        set(cell, { y: near(i * each), width: near(wide), height: near(Math.max(0, each - 0.6)), style: `fill:${paint(numbers[i] < 0 ? "soft" : colour)}`, "fill-opacity": near(0.06 + 0.94 * size) });
      });
    },
    line(key, { from: [a, b], to: [c, d], wide = 2, colour = "query", opacity = 1, drawn = 1, arc, over }) {
      const { node } = actor(key, () => s("path", { fill: "none", "stroke-linecap": "round", pathLength: 1 }), over ? 3 : 1);
      const middle = arc ? Math.min(b, d) - arc : (b + d) / 2;
      set(node, { d: `M${near(a)} ${near(b)}C${near(a)} ${near(middle)} ${near(c)} ${near(middle)} ${near(c)} ${near(d)}`, style: `stroke:${paint(colour)}`, "stroke-width": near(wide), opacity: near(drawn ? opacity : 0), "stroke-dasharray": `${near(drawn)} 2` });
    },
    box(key, { x, y, width, height, colour, fill, opacity = 1, over }) {
      const { node } = actor(key, () => s("rect", {}), over ? 3 : 0);
      set(node, { x: near(x), y: near(y), width: near(width), height: near(height), rx: 6, style: `fill:${paint(fill)};stroke:${paint(colour)}`, "stroke-width": 1.5, opacity: near(opacity) });
    },
    bar(key, { x, y, width, height, colour = "w1", opacity = 1 }) {
      const { node } = actor(key, () => s("rect", { rx: 2 }), 2);
      set(node, { x: near(x), y: near(y), width: near(Math.max(0, width)), height: near(Math.max(0, height)), style: `fill:${paint(colour)}`, opacity: near(opacity) });
    },
  };
}
