/* Cap curve: How large can an output become? */

import { card, fixed, linspace, plot, told } from "../kit/index.js";

const WORDS = {
  plane: "soft_cap of X",
  knob: "cap",
  told: "cap {value}: soft_cap of 2 is {y}",
};

/* As tfm_lib.soft_cap.soft_cap computes it, one number at a time. */
export function softCap(X, cap) {
  return cap * Math.tanh(X / cap);
}

const GRID = linspace(-4, 4, 81);
const two = fixed(2);

function render({ model, el }) {
  const ui = card({ model, el, state: ["value"] });
  const plane = plot(ui, {
    x: { label: ui.get("shared").x, domain: [-4, 4] },
    y: { label: ui.get("shared").y, domain: ui.get("range") },
    label: WORDS.plane,
  });
  const curve = plane.line({ colour: "query" });
  ui.stage.append(plane.el);
  ui.slider("value", { label: WORDS.knob, min: 0.1, max: 5, step: 0.1, format: fixed(1) });
  const drawn = () => GRID.map((x) => [x, softCap(x, ui.get("value"))]);

  function draw() {
    curve(drawn());
    ui.say(told(WORDS.told, { value: fixed(1)(ui.get("value")), y: two(softCap(2, ui.get("value"))) }));
  }

  return ui.start(draw, { csv: () => [["X", "soft_cap"], ...drawn()] });
}

export default { render, words: WORDS };
