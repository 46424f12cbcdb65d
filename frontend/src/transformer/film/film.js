/* Film widget: one sentence through the whole machine, scene after scene, with the numbers that the model computed for it.
   It stands in a folder of its own, where the build does not find it: no page shows it yet. */

import { card, h, onWidth, player, retext, s, set, told } from "../../kit/index.js";
import { theatre } from "./stage.js";
import { scenes } from "./scenes.js";

const WORDS = { time: "seconds", told: "{scene} / {scenes} · {caption}" };

const NARROW = 480; // pixels, below which the stage is nearly square

/* The scene at a time, and how far it is. */
export function placeOf(all, time) {
  let [k, left] = [0, time];
  while (k < all.length - 1 && left >= all[k].seconds) left -= all[k++].seconds;
  return { k, u: Math.min(1, left / all[k].seconds) };
}

/* The last caption that has begun. */
export const captionAt = (says, u) => says.findLast(([from]) => from <= u)[1];

function render({ model, el }) {
  const ui = card({ model, el, state: ["value"] });
  const shared = ui.get("shared");
  const svg = s("svg", { class: "tfm-film", role: "img", preserveAspectRatio: "xMidYMid meet" });
  const caption = h("p", { class: "tfm-film-caption" });
  const box = h("div", { class: "tfm-figure-box" }, svg);
  ui.stage.append(box, caption);
  const stage = theatre(svg);
  const all = scenes(ui.get("film"), stage, shared);
  const starts = all.map((_, k) => all.slice(0, k).reduce((total, { seconds }) => total + seconds, 0));
  const total = starts.at(-1) + all.at(-1).seconds;

  let shown = 0;
  function show(time) {
    shown = time;
    const { k, u } = placeOf(all, time);
    stage.frame(() => all[k].draw(u));
    retext(caption, captionAt(all[k].says, u));
  }
  player(ui, "value", { label: WORDS.time, min: 0, max: total, step: 0.1, stops: () => [...starts, total], flow: show, format: (time) => time.toFixed(0) });
  ui.until(onWidth(box, (width) => {
    const height = Math.round(width * (width < NARROW ? 0.92 : 0.6));
    stage.pixels = [width, height];
    set(svg, { width, height });
    show(shown);
  }));

  function draw() {
    const time = Math.min(total, ui.get("value"));
    show(time);
    const { k, u } = placeOf(all, time);
    set(svg, { "aria-label": captionAt(all[k].says, u) });
    ui.say(told(WORDS.told, { scene: k + 1, scenes: all.length, caption: captionAt(all[k].says, u) }));
  }
  const csv = () => [["scene", "second", "caption"], ...all.flatMap(({ name, seconds, says }, k) => says.map(([from, words]) => [name, starts[k] + from * seconds, words]))];
  return ui.start(draw, { watch: ["film"], csv });
}

export default { render, words: WORDS };
