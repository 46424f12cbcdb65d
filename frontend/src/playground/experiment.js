/* One experiment of the playground in a chapter: a Transformer that lacks a part is trained in the page, beside the recorded run of the whole one. */

import { card, h, plot, retext, s, set, told } from "../kit/index.js";
import { curve, guesses, last, opened, percent, spell, SPELLED, tried, verdict, WORDS as SHARED } from "./shared/experiments.js";

const WORDS = {
  guess: "Your guess starts the training:",
  pause: "Pause",
  on: "Go on",
  again: "Again, other weights",
  loss: "show the loss",
  lost: "loss in nats per token",
  plotted: "{label}, against the updates",
  reads: "{word} →",
  right: "of {count} right",
  open: ["????????", "–"],
  before: "With all its parts, it ends with {end}. Training the other one takes about a minute.",
  ends: ["{exact} of {count} unseen words right", "a loss of {loss} nats per token"],
  at: "Update {step} of {all}: {exact} of {count} unseen words are right, and the loss is {loss} nats.",
  begins: "The training begins.",
};

const [ALL, MOST] = [100, 3.5]; // the ends of the axes: per cent, and nats
const SEEDS = 10;
const LINE = "display:grid;grid-template-columns:30px minmax(0,1fr) auto 96px;gap:0 10px;align-items:center;min-height:36px;line-height:1.2";
/* The readout is as high as its longest sentence from the start, so that nothing ever moves. */
const STYLE = `.tfm-tall{display:grid}.tfm-tall>:first-child,.tfm-tall::before{grid-area:1/1}.tfm-tall::before{content:attr(data-tallest);visibility:hidden;font-weight:640;font-size:1.08em}
.tfm-written{min-width:150px}.tfm-written+*{text-align:right}
@container(max-width:430px){.tfm-run{grid-template-columns:30px 1fr 84px!important;padding-block:3px}.tfm-run>:nth-child(2){grid-column:2/-1}.tfm-run>:nth-child(3){grid-column:2}.tfm-card .tfm-written{min-width:104px}.tfm-card b.tfm-written{font-size:17px!important;letter-spacing:1px!important}}`;

function render({ model, el }) {
  const ui = card({ model, el, state: ["trained", "loss"] }); // `trained`, whether a run of the reader is shown, first: so Reset stops it
  const { names, why, word, right, settings, count, update, exact: learnt } = ui.get("shared");
  const [whole, updates] = [{ moments: ui.get("whole") }, last({ moments: ui.get("whole") }).step];
  const kept = ui.get("moments").length ? { moments: ui.get("moments") } : undefined; // of a notebook that was saved
  if (!kept) ui.set({ trained: false }); // a link brings no weights
  let [course, opening, failure] = [];
  const run = () => (ui.get("trained") ? course?.run ?? kept : undefined);
  const trouble = () => failure ?? course?.trouble;
  const ended = () => Boolean(run() && (run().broken || last(run()).step >= updates));

  const { el: small } = ui.button("again", { label: WORDS.pause, onclick: () => (course?.going ? stop() : course?.run && !ended() ? engaged() : begin(ui.get("value"), (ui.get("seed") + 1) % SEEDS)) });
  set(small, { "data-process": "", style: "min-width:13em;white-space:nowrap" });
  ui.bar.append(h("div", { style: "grid-column:1/-1;display:flex;justify-content:space-between;align-items:center;gap:10px;min-height:46px;line-height:1.3" }, h("span", {}, WORDS.guess), small));
  const guess = guesses(ui, (guess) => begin(guess, ui.get("seed")));

  /* Each run has a line: how it is drawn, its name, what it writes, how many words are right. */
  const [before, after] = [["one"], ["broken", "7 5"]].map(([colour, dash], i) => {
    const mark = s("svg", { width: 30, height: 12, "aria-hidden": "true" }, s("path", { d: "M0 6H30", class: "tfm-line", style: `--c:var(--tfm-${colour})`, "stroke-dasharray": dash }));
    const [written, exact] = [h("b", { class: "tfm-written", style: SPELLED }), h("b", {})];
    return { look: { colour, dash }, written, exact, el: h("div", { class: "tfm-run", style: LINE }, mark, h("span", {}, names[i]), written, exact) };
  });
  const heads = h("div", { class: "tfm-caption tfm-run", style: `${LINE};min-height:0;margin:0` }, h("i", {}), h("i", {}), h("span", { class: "tfm-written" }, told(WORDS.reads, { word })), h("span", {}, told(WORDS.right, { count })));
  const planes = [["exact", learnt, ALL, percent], ["loss", WORDS.lost, MOST, (nats) => Math.min(nats, MOST)]].map(([name, label, most, scale]) => {
    const plane = plot(ui, { x: { label: update, domain: [0, updates] }, y: { label, domain: [0, most] }, height: 250, low: 200, most: 700, label: told(WORDS.plotted, { label }) });
    const [first, second, here] = [plane.line(before.look), plane.line(after.look), plane.dot({ colour: "broken", r: 6 })];
    const draw = (run, hidden) => {
      plane.el.hidden = hidden;
      if (hidden) return; // it has no width
      first(curve(whole, name, scale));
      second(run ? curve(run, name, scale) : []);
      here(run && last(run)[name] != null ? [last(run).step, scale(last(run)[name])] : null);
    };
    return { el: plane.el, draw };
  });
  ui.stage.append(h("style", {}, STYLE), h("div", {}, heads, before.el, after.el), ...planes.map(({ el }) => el), ui.toggle("loss", { label: WORDS.loss }).el);
  const readout = ui.stage.nextElementSibling;
  const exact = (moment) => String(Math.round(count * moment.exact));
  spell(before.written, right, right);
  retext(before.exact, exact(last(whole)));
  readout.className = "tfm-tall tfm-readout";
  set(readout, { "data-tallest": `${verdict(0, 0, count)} ${why}` });

  /* With settings a new run begins, otherwise the last one goes on. */
  async function engaged(settings) {
    failure = undefined;
    ui.stage.dataset.busy = "";
    try {
      course ??= await (opening ??= opened(ui, heard));
      course.tell({ go: true, text: word }, settings);
      ui.set({ trained: true });
    } catch (error) {
      opening = null; // it may be tried again
      failure = error.message;
      delete ui.stage.dataset.busy;
    }
    draw();
  }
  function begin(value, seed) {
    ui.set({ value, seed });
    return engaged({ ...settings, seed, updates });
  }
  const stop = () => course?.going && course.tell({ go: false });
  function heard({ run: now, going, trouble }) {
    delete ui.stage.dataset.busy;
    if (now && !going && !trouble) ui.set({ moments: now.moments.map(({ maps, weights, norms, ...moment }) => moment) });
    draw();
  }
  ui.on("trained", () => {
    if (ui.get("trained")) return void (run() || ui.set({ trained: false }));
    course?.rest();
    failure = undefined;
    ui.set({ value: -1, seed: 0, moments: [] });
  });
  const hidden = () => document.hidden && stop();
  document.addEventListener("visibilitychange", hidden);
  ui.until(() => (document.removeEventListener("visibilitychange", hidden), course?.close()));

  function draw() {
    const [shown, going] = [run(), course?.going];
    const now = shown && last(shown);
    small.style.visibility = shown ? "" : "hidden";
    retext(small, going ? WORDS.pause : ended() || !course?.run ? WORDS.again : WORDS.on);
    guess.show(ui.get("value"));
    if (now) spell(after.written, now.written, now.right);
    else retext(after.written, WORDS.open[0]);
    retext(after.exact, now ? exact(now) : WORDS.open[1]);
    planes.forEach(({ draw }, i) => draw(shown, ui.get("loss") !== Boolean(i)));
    set(readout, { "aria-live": going ? "off" : "polite" }); // too fast to be read out
    ui.say(h("div", {}, sentences(shown, now)));
  }

  function sentences(shown, now) {
    if (trouble()) return h("span", { class: "tfm-bad" }, told(SHARED.failed, { error: trouble() }));
    if (!now) return told(WORDS.before, { end: told(WORDS.ends[+ui.get("loss")], { exact: h("b", {}, exact(last(whole))), count, loss: h("b", {}, last(whole).loss.toPrecision(2)) }) });
    if (shown.broken) return h("span", { class: "tfm-bad" }, told(SHARED.broken, { step: shown.broken }));
    if (ended()) return tried(ui.get("experiment")) && [h("b", {}, verdict(ui.get("value"), now.exact, count)), ` ${why}`];
    if (now.loss == null) return WORDS.begins;
    return told(WORDS.at, { step: h("b", {}, String(now.step)), all: updates, exact: h("b", {}, exact(now)), count, loss: now.loss.toPrecision(2) });
  }

  const csv = () => [["run", "update", "loss", "exact"], ...[whole, run()].flatMap((each, i) => (each?.moments ?? []).filter(({ loss }) => loss != null).map(({ step, loss, exact }) => [names[i], step, loss, exact]))];
  return ui.start(draw, { watch: ["value", "seed", "moments"], csv });
}

export default { render, words: { SHARED, WORDS } };
