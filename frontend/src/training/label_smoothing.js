/* Label-smoothing widget: a smoothed target, a model's output, and the loss with its minimum. */

import { asRead, card, clamp, fixed, general, h, linspace, live, onWidth, player, plot, range, s, set, told } from "../kit/index.js";

const WORDS = {
  asked: "probability of the correct word",
  loss: "loss in nats",
  plane: "The loss against the model’s probability of the correct word",
  shares: "Probabilities of the {target} and of the {model}",
  drag: "Drag p to the lowest point · grey: without smoothing",
  words: "vocabulary size",
  epsilon: "smoothing ε",
  convention: "ε is shared among",
  conventions: { all: "all words", others: "the other words" },
  target: "{target} → {right} {share} · {others} {rest}",
  other: "the 1 other word",
  others: "each of the {count} other words",
  told: "{p} → the loss is {loss} nats{least}; without smoothing {plain}",
  least: ", the lowest possible",
  word: "word of the translation",
  own: "The translator wrote {word} with probability {p}. Given how it shares the rest among the other words, its loss is {loss} nats.",
  bars: "Correct word: target {right}, model {p}. Each other of {words}: target {wrong}, model {rest}.",
};

/* The target's probability of the correct word, and of each wrong one; as tfm_lib.widgets.training.target. */
export function target(vocabulary, epsilon, convention) {
  const wrong = epsilon / (convention === "all" ? vocabulary : vocabulary - 1);
  return [1 - (vocabulary - 1) * wrong, wrong];
}

/* The loss in nats of a model that gives the correct word p and spreads the rest evenly. */
export function loss(p, vocabulary, epsilon, convention) {
  const [right, wrong] = target(vocabulary, epsilon, convention);
  const ofRight = p > 0 ? right * Math.log(p) : -Infinity;
  if (!wrong) return -ofRight;
  return -ofRight - (p < 1 ? (vocabulary - 1) * wrong * Math.log((1 - p) / (vocabulary - 1)) : -Infinity);
}

/* The same for a model that spreads the rest unevenly: `others` is the mean −log of the other probabilities. */
export function unevenLoss(p, others, vocabulary, epsilon, convention) {
  const [right, wrong] = target(vocabulary, epsilon, convention);
  return -right * Math.log(p) + (vocabulary - 1) * wrong * others;
}

const NEAR = 0.006; // distance from the minimum at which the reader has found it; only then is it marked
const topOf = (floor) => (floor > 3 ? 10 : 5); // nats
const GRID = [...linspace(0.002, 0.95, 160), ...linspace(0.951, 0.9995, 60)];
const share = (x) => (x >= 0.001 || x === 0 ? String(+x.toFixed(x > 0.995 && x < 1 ? 5 : 4)) : general(x));
const nats = fixed(3);

function render({ model, el }) {
  const ui = card({ model, el, state: ["sentence", "word", "value", "epsilon", "vocabulary", "convention"], fits: { value: (p) => p > 0 && p < 1 } });
  const now = () => {
    const [epsilon, vocabulary, convention] = ["epsilon", "vocabulary", "convention"].map(ui.get);
    return { p: clamp(ui.get("value"), 0.001, 0.999), epsilon, vocabulary, convention };
  };
  const shared = ui.get("shared");
  const word = () => clamp(ui.get("word"), 0, Math.max(0, ui.get("written").length - 1));
  const name = (i) => (ui.get("written")[i] ? asRead(ui.get("written")[i], ui.get("written")) : "");
  const answer = (sure, i) => clamp(sure[i], 0.001, 0.999); // the model's probability of the word, the initial p
  const own = live(ui, {
    ask: () => ({ do: "smoothing" }),
    take: (found, typed) => ({ ...found, vocabulary: found.known, ...(typed && { word: 0, value: answer(found.sure, 0) }) }),
  });
  const bars = columns(ui, [shared.right, shared.each]);
  const plane = plot(ui, {
    x: { label: WORDS.asked, domain: [0, 1] },
    y: { label: WORDS.loss, domain: [0, topOf(0)] },
    height: 270,
    label: WORDS.plane,
  });
  const plain = plane.line({ colour: "soft", dash: "7 4" });
  const curve = plane.line({ colour: "one" });
  const least = plane.dot({ colour: "two", r: 6 });
  const drag = plane.handle({ control: "value", colour: "one", label: "p", name: WORDS.asked, along: "x", step: 0.01, r: 7, onmove: ([x]) => ui.set({ value: clamp(x, 0.001, 0.999) }) });
  ui.stage.append(
    h(
      "div",
      { class: "tfm-columns" },
      h("div", {}, h("p", { class: "tfm-caption" }, told(WORDS.shares, { target: h("span", { class: "tfm-two" }, shared.target), model: h("span", { class: "tfm-one" }, shared.model) })), bars.el),
      h("div", {}, h("p", { class: "tfm-caption" }, WORDS.drag), plane.el),
    ),
  );
  player(ui, "epsilon", { stops: () => range(11).map((k) => k / 20), pace: 500, label: WORDS.epsilon, min: 0, max: 0.5, step: 0.01, format: fixed(2) });
  const words = ui.slider("vocabulary", { label: WORDS.words, values: [2, 5, 10, 100, 1000, 37000], format: String });
  ui.select("convention", { label: WORDS.convention, options: Object.entries(WORDS.conventions) });

  const which = ui.get("machine") && ui.slider("word", { label: WORDS.word, min: 0, max: 0, open: true, format: name });
  ui.on("word", () => own() && ui.set({ value: answer(ui.get("sure"), word()) }));

  function draw() {
    words.enable(!own()); // the vocabulary size of a model is fixed
    if (which) {
      which.upTo(Math.max(0, ui.get("written").length - 1), word());
      which.enable(own());
      which.el.hidden = !own();
    }
    const { p, epsilon, vocabulary, convention } = now();
    const [right, wrong] = target(vocabulary, epsilon, convention);
    const at = (x) => loss(x, vocabulary, epsilon, convention);
    const [here, floor] = [at(p), at(right)];
    const top = topOf(floor);
    const found = Math.abs(p - clamp(right, 0.001, 0.999)) < NEAR;
    plane.domain({ y: [0, top] });
    bars.update([[right, wrong], [p, (1 - p) / (vocabulary - 1)]], vocabulary);
    const seen = (f) => GRID.map((x) => [x, f(x)]).filter(([, y]) => y <= top);
    plain(seen((x) => -Math.log(x)));
    curve(seen(at));
    least(found ? [right, floor] : null, nats(floor), true);
    drag([p, Math.min(top, here)]);
    ui.say(
      h("div", {}, told(WORDS.target, { target: h("b", { class: "tfm-two" }, shared.target), right: shared.right, share: share(right), others: vocabulary === 2 ? WORDS.other : told(WORDS.others, { count: vocabulary - 1 }), rest: share(wrong) })),
      h("div", {}, told(WORDS.told, { p: h("b", { class: "tfm-one" }, `p = ${fixed(3)(p)}`), loss: h("b", {}, nats(here)), least: found && WORDS.least, plain: nats(-Math.log(p)) })),
      own() && h("div", {}, told(WORDS.own, { word: h("b", {}, name(word())), p: fixed(3)(ui.get("sure")[word()]), loss: h("b", {}, nats(unevenLoss(ui.get("sure")[word()], ui.get("others")[word()], vocabulary, epsilon, convention))) })),
    );
  }

  const csv = () => {
    const { epsilon, vocabulary, convention } = now();
    if (own()) return [["word", "p", "loss"], ...ui.get("written").map((_, i) => [name(i), ui.get("sure")[i], unevenLoss(ui.get("sure")[i], ui.get("others")[i], vocabulary, epsilon, convention)])];
    return [["p", "smoothed loss", "plain loss"], ...GRID.map((x) => [x, loss(x, vocabulary, epsilon, convention), -Math.log(x)])];
  };
  return ui.start(draw, { watch: ["written", "sure", "others"], csv });
}

const [LINE, MOST, LEFT] = [26, 420, 92];

/* Two words, the correct one and any wrong one; for each the target's share above the model's. */
function columns(ui, names) {
  const mono = "font-family:var(--tfm-mono);font-size:12px";
  const rows = names.map((name, i) =>
    ["two", "one"].map((colour, k) => {
      const y = 8 + i * (2 * LINE + 22) + k * LINE;
      return {
        y,
        name: k === 0 && s("text", { x: 0, y: y + LINE + 3 }, name),
        bar: s("rect", { x: LEFT, y: y + 3, height: LINE - 7, rx: 3, style: `fill:var(--tfm-${colour})`, "fill-opacity": k ? 0.75 : 1 }),
        number: s("text", { y: y + 16, style: mono }),
      };
    }),
  );
  const base = s("path", { class: "tfm-axis-line", d: `M${LEFT} 4V${8 + 4 * LINE + 22}` });
  const svg = s("svg", { role: "img", height: 4 * LINE + 44 }, base, rows.flat().flatMap(({ name, bar, number }) => [name || null, bar, number].filter(Boolean)));
  const el = h("div", { class: "tfm-figure-box" }, svg);
  let [width, last] = [0, null];
  function update(shares, vocabulary) {
    last = [shares, vocabulary];
    if (!width) return;
    const room = width - LEFT - 74;
    rows.forEach((pair, i) =>
      pair.forEach(({ bar, number }, k) => {
        const value = shares[k][i];
        set(bar, { width: Math.max(1, room * value).toFixed(1) });
        set(number, { x: (LEFT + Math.max(1, room * value) + 6).toFixed(1) });
        number.textContent = share(+value.toPrecision(4));
      }),
    );
    const [[tr, tw], [mr, mw]] = shares;
    set(svg, { "aria-label": told(WORDS.bars, { right: share(tr), p: share(mr), words: vocabulary, wrong: share(tw), rest: share(mw) }) });
  }
  ui.until(
    onWidth(el, (total) => {
      width = Math.min(total, MOST);
      set(svg, { width });
      if (last) update(...last);
    }),
  );
  return { el, update };
}

export default { render, words: WORDS };
