/* A stage on which a film is drawn: every frame is a function of the time alone, so that it can be played, stopped and scrubbed.

   const stage = theatre(svg);  stage.frame(() => { … });     what a frame does not mention is not on the stage
   stage.word("cat", { x, y, text, size?, colour?, opacity?, anchor?, weight?, step? })   `step` is 1 or −1 where
                                                                      a narrow stage puts a word one line lower or higher
   stage.strip("x 2", { x, y, numbers, wide?, high?, colour?, opacity?, top?, turn? })   a row of numbers on end, its foot at (x, y), or lying, with
                                                                      `turn` 90; above 0 coloured, below 0 grey
   stage.line("a", { from: [x, y], to: [x, y], wide?, colour?, opacity?, drawn? })   a curve, `drawn` of it from 0 to 1
   stage.box("layer 1", { x, y, width, height, colour, fill, opacity?, over? })   `over`: in front of the columns
   stage.bar("score", { x, y, width, height, colour, opacity? })
   stage.look([x, y, width, height])                                  what the camera sees; heights stretch until it fills the stage
   over(u, a, b)      0 before a, 1 after b, eased between            mix(p, q, u)   numbers or lists of numbers               */

import { clamp, range, s, set } from "../../kit/index.js";

export const over = (u, a, b) => {
  const x = clamp((u - a) / (b - a), 0, 1);
  return x * x * (3 - 2 * x);
};
export const mix = (p, q, u) => (Array.isArray(p) ? p.map((x, i) => mix(x, q[i], u)) : p + (q - p) * u);
const near = (x) => Math.round(100 * x) / 100;

export const NARROW = 480; // pixels, below which the stage is nearly square
const LEAST = 13; // pixels: no word is smaller, however far away the camera is

export function theatre(svg) {
  const actors = new Map();
  const layers = range(4).map(() => s("g", {})); // the ground, lines, columns and words, and what lies over them
  svg.append(...layers);
  let [now, scale, tall, latest] = [0, 1, 1]; // `tall`: how far heights are stretched

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
    look([x, y, width, height]) {
      scale = this.pixels[0] / width;
      tall = this.pixels[1] / height / scale;
      set(svg, { viewBox: [x, y * tall, width, height * tall].map(near).join(" ") });
    },
    word(key, { x, y, text, size = 20, colour = "ink", opacity = 1, anchor = "middle", weight = 500, step = 0, over }) {
      const { node } = actor(key, () => s("text", {}), over ? 3 : 2);
      if (node.textContent !== text) node.textContent = text;
      set(node, { transform: `translate(${near(x)} ${near(y * tall + (this.isNarrow() && (step * LEAST) / scale))})`, "text-anchor": anchor, style: `font-size:${near(Math.max(size, LEAST / scale))}px;fill:${paint(colour)};font-weight:${weight}`, opacity: near(opacity) });
    },
    strip(key, { x, y, numbers, wide = 24, high = 84, colour = "encoder", opacity = 1, top = 2.5, turn = 0 }) {
      high *= tall;
      const found = actor(key, () => s("g", {}, s("rect", { rx: 3 }), s("g", {}, numbers.map((_, i) => s("rect", { y: i, width: 1, height: 0.9 })))), 2);
      const [frame, cells] = found.node.children;
      set(found.node, { transform: `translate(${near(x)} ${near(y * tall)})rotate(${near(turn)})translate(${-wide / 2} ${near(-high)})`, opacity: near(opacity) });
      set(frame, { x: -1.5, y: -1.5, width: wide + 3, height: near(high + 3), style: `fill:var(--tfm-card);stroke:${paint(colour)}` });
      set(cells, { transform: `scale(${wide} ${near(high / numbers.length)})` });
      const told = colour + numbers;
      if (found.told !== told) numbers.forEach((x, i) => set(cells.children[i], { style: `fill:${paint(x < 0 ? "soft" : colour)}`, "fill-opacity": near(0.06 + 0.94 * clamp(Math.abs(x) / top, 0, 1)) }));
      found.told = told;
    },
    line(key, { from: [a, e], to: [c, f], wide = 2, colour = "query", opacity = 1, drawn = 1 }) {
      const { node } = actor(key, () => s("path", { fill: "none", "stroke-linecap": "round", pathLength: 1 }), 1);
      const [b, d] = [e * tall, f * tall];
      const middle = (b + d) / 2;
      set(node, { d: `M${near(a)} ${near(b)}C${near(a)} ${near(middle)} ${near(c)} ${near(middle)} ${near(c)} ${near(d)}`, style: `stroke:${paint(colour)}`, "stroke-width": near(wide), opacity: near(drawn ? opacity : 0), "stroke-dasharray": `${near(drawn)} 2` });
    },
    box(key, { x, y, width, height, colour, fill, opacity = 1, over }) {
      const { node } = actor(key, () => s("rect", {}), over ? 3 : 0);
      set(node, { x: near(x), y: near(y * tall), width: near(width), height: near(height * tall), rx: 6, style: `fill:${paint(fill)};stroke:${paint(colour)}`, "stroke-width": 1.5, opacity: near(opacity) });
    },
    bar(key, { x, y, width, height, colour = "w1", opacity = 1 }) {
      const { node } = actor(key, () => s("rect", { rx: 2 }), 2);
      set(node, { x: near(x), y: near(y * tall), width: near(Math.max(0, width)), height: near(Math.max(0, height * tall)), style: `fill:${paint(colour)}`, opacity: near(opacity) });
    },
  };
}
