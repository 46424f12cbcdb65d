/* Cap curve: How large can an output become? */

import { card, fixed, linspace, plot } from "../kit/index.js";

/* As tfm_lib.soft_cap.soft_cap computes it, one number at a time. */
export function softCap(X, cap) {
  return cap * Math.tanh(X / cap);
}

const GRID = linspace(-4, 4, 81);
const two = fixed(2);

function render({ model, el }) {
  const ui = card({ model, el, state: ["value"] });
  const plane = plot(ui, {
    x: { label: "X", domain: [-4, 4] },
    y: { label: "soft_cap", domain: ui.get("range") },
    label: "soft_cap of X",
  });
  const curve = plane.line({ colour: "query" });
  ui.stage.append(plane.el);
  ui.slider("value", { label: "cap", min: 0.1, max: 5, step: 0.1, format: fixed(1) });
  const drawn = () => GRID.map((x) => [x, softCap(x, ui.get("value"))]);

  function draw() {
    curve(drawn());
    ui.say(`cap ${fixed(1)(ui.get("value"))}: soft_cap of 2 is ${two(softCap(2, ui.get("value")))}`);
  }

  return ui.start(draw, { csv: () => [["X", "soft_cap"], ...drawn()] });
}

export default { render };
