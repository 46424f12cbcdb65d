/* Playground widget: a Transformer is trained in the page; its attention, what it writes and how often it is right, while it learns. */

import { below, card, clamp, fixed, h, heatmap, indexed, lazy, legend, many, plot, range, retext, set, told, WORDS as KIT } from "../kit/index.js";
import { COUNT, LETTERS, TASKS, read, written } from "./engine/tasks.js";

const WORDS = {
  train: "Train",
  pause: "Pause",
  on: "Go on",
  again: "Train again",
  once: "One update",
  machine: "machine",
  task: "task",
  positions: "positions",
  heads: "heads",
  residuals: "residual connections",
  causal: "causal mask",
  experiment: "experiment",
  free: "none, play freely",
  numbered: "{number}. {title}",
  guess: "it will write",
  unsure: "…",
  outcomes: ["almost every word", "some of the words", "hardly any word"],
  planned: "Choose what you expect, then press “{train}”.",
  guessed: "You expect that it will write {guess}. Press “{train}”.",
  as: "As you expected, it writes {found}.",
  other: "You expected {guess}, but it writes {found}.",
  found: "It writes {found}.",
  more: "more switches",
  scale: "divide by √d_k",
  forward: "feed-forward",
  norm: "norm",
  layers: "layers on each side",
  rate: "highest rate",
  warmup: "warm-up",
  smoothing: "smoothing",
  seed: "seed",
  word: "your word",
  learning: "Unseen words written exactly against the updates",
  loss: "loss in nats per letter",
  falling: "Training loss against the updates",
  where: "Where it looks · rows: letters written, columns: letters read",
  nowhere: "It looks at nothing: one vector is all that its decoder gets of the word.",
  map: "Cross-attention of head {head}: letters that are written down, letters of the word across",
  cell: "writing {letter}, looking at {source}: {weight}",
  end: "·",
  spelled: "It reads {asked} and writes {answered}",
  ghost: "dashed: the run before, {run}",
  with: "{name} {value}",
  not: "no {name}",
  at: "Update {step} of {all}: {exact} of {count} unseen words are written exactly",
  lost: "loss {loss} nats",
  rated: "rate {rate}",
  pace: "{pace} updates a second",
  rests: "Press “{train}” for: {run}.",
  broken: "After update {step} the loss is no longer a number. The picture shows the last update that was kept.",
  failed: "The training stopped: {error}",
  damaged: "engine.js is not the file that this book was built with.",
};

const SWITCHES = ["machine", "task", "positions", "n_heads", "residuals", "causal", "norm", "scale", "feed_forward", "n_layers", "rate", "warmup", "smoothing", "seed"];
const HEADS = [1, 2, 4];
const RATES = [0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064];
const WARMUPS = [1, 10, 25, 50, 100, 200, 400];
const SMOOTHINGS = [0, 0.05, 0.1, 0.2, 0.3];
const LONGEST = 8;
const PATIENCE = 20_000; // milliseconds to wait for a kernel
const TRANSFORMER = "transformer";
const SPELLED = "font:700 22px var(--tfm-mono, monospace);letter-spacing:3px";
const BOUNDS = [0.97, 0.2]; // of the outcomes: shares of exact words
const two = fixed(2);
const percent = (share) => Math.round(100 * share);

function render({ model, el }) {
  const ui = card({ model, el, state: ["trained", "experiment", "guess", ...SWITCHES, "value", "step", "more", "focus"], fits: { focus: below(LONGEST + 1) } }); // `trained`, whether a run of the reader is shown, first: so Reset stops it
  const { machines, tasks, positions, update, exact: learnt, head: number, norms, steps, experiments } = ui.get("shared");
  const updates = ui.get("updates");
  const settings = () => Object.fromEntries(SWITCHES.map((name) => [name, ui.get(name)]));
  const same = (a, b) => SWITCHES.every((name) => a[name] === b[name]);
  const ids = () => read(ui.get("value")).slice(0, LONGEST);

  /* A run is { settings, word, moments }: what was kept of it, and `now`, the newest moment. */
  const recorded = { settings: ui.get("ran"), moments: ui.get("moments") };
  let run = recorded;
  let [former, engine, opening, going, trouble, pace, changing] = [];
  let serial = 0;
  const last = () => run.now ?? run.moments.at(-1);
  const shown = () => (ui.get("step") >= last().step ? last() : run.moments.findLast(({ step }) => step <= ui.get("step")) ?? run.moments[0]);
  const fits = () => same(run.settings, settings());

  const [asked, answered] = ["", ""].map(() => h("b", { style: SPELLED }));
  const maps = range(Math.max(...HEADS)).map((head) => {
    const names = told(WORDS.map, { head: head + 1 });
    const weight = (i, j) => two(shown().weights[head][i][j]);
    const letter = (i) => shown().written[i] ?? WORDS.end;
    const map = heatmap(ui, { rows: [""], cols: [""], name: `head ${head + 1}`, label: names, onFocus: (i) => ui.set({ focus: i }), describe: (i, j) => told(WORDS.cell, { letter: letter(i), source: shown().word[j] ?? WORDS.end, weight: weight(i, j) }), most: 30 });
    return { ...map, box: h("div", { style: "flex:1 1 140px;max-width:300px" }, h("p", { class: "tfm-caption" }, told(number, { head: head + 1 })), map.el) };
  });
  const axis = { label: update, domain: [0, updates] };
  const learning = plot(ui, { x: axis, y: { label: learnt, domain: [0, 100] }, height: 210, label: WORDS.learning });
  const falling = plot(ui, { x: axis, y: { label: WORDS.loss, domain: [0, 3] }, height: 210, label: WORDS.falling });
  const [exact, loss] = [learning, falling].map((each) => ({ before: each.line({ colour: "soft", dash: "5 4" }), line: each.line({ colour: "one" }), here: each.dot({ colour: "one", r: 6 }) }));
  const looks = h("div", { style: "display:flex;flex-wrap:wrap;gap:0 16px" });
  const scale = legend({ max: 1 });
  const where = h("p", { class: "tfm-caption" });
  const note = h("p", { class: "tfm-caption", style: "min-height:1lh" });
  ui.stage.append(
    h("div", { style: "display:flex;flex-wrap:wrap;align-items:center;gap:0 10px;min-height:48px" }, told(WORDS.spelled, { asked, answered })),
    where,
    looks,
    scale,
    h("div", { class: "tfm-columns" }, learning.el, falling.el),
    note,
  );

  const train = ui.button("train", { label: WORDS.train, onclick: () => begun({ go: !going }) });
  const readout = ui.stage.nextElementSibling;
  train.el.style = "font-weight:700;font-size:17px;padding:6px 20px;color:var(--tfm-card);background:var(--tfm-ink)";
  const once = ui.button("once", { label: WORDS.once, onclick: () => begun({ once: true }) });
  [train, once].forEach(({ el: button }) => set(button, { "data-process": "" })); // what follows takes its time
  ui.slider("step", { label: update, min: 0, max: updates, step: 25, format: String });
  ui.select("machine", { label: WORDS.machine, options: Object.entries(machines) });
  ui.select("task", { label: WORDS.task, options: Object.entries(tasks) });
  /* Parts that only a Transformer has. */
  const its = [
    ui.select("positions", { label: WORDS.positions, options: Object.entries(positions) }),
    ui.select("n_heads", { label: WORDS.heads, options: HEADS }),
    ui.toggle("residuals", { label: WORDS.residuals }),
    ui.toggle("causal", { label: WORDS.causal }),
  ];
  ui.toggle("more", { label: WORDS.more });
  const drawn = [
    ui.select("norm", { label: WORDS.norm, options: Object.entries(norms) }),
    ui.toggle("scale", { label: indexed(WORDS.scale) }),
    ui.toggle("feed_forward", { label: WORDS.forward }),
    ui.slider("n_layers", { label: WORDS.layers, min: 1, max: 2, format: String }),
  ];
  its.push(...drawn);
  const rest = [
    ...drawn,
    ui.slider("rate", { label: WORDS.rate, values: RATES, format: String }),
    ui.slider("warmup", { label: WORDS.warmup, values: WARMUPS, format: (count) => many(steps, count) }),
    ui.slider("smoothing", { label: WORDS.smoothing, values: SMOOTHINGS, format: String }),
    ui.slider("seed", { label: WORDS.seed, min: 0, max: 9, format: String }),
  ];
  const row = (controls) => h("div", { style: "display:flex;flex-wrap:wrap;align-items:center;gap:8px 22px;padding-bottom:12px" }, controls.map(({ el }) => el));
  const drawer = row(rest);
  const planned = [
    ui.select("experiment", { label: WORDS.experiment, options: [[-1, WORDS.free], ...experiments.map(({ title }, i) => [i, told(WORDS.numbered, { number: i + 1, title })])] }),
    ui.select("guess", { label: WORDS.guess, options: [[-1, WORDS.unsure], ...WORDS.outcomes.map((words, i) => [i, words])] }),
  ];
  const outcome = h("p", { class: "tfm-outcome", role: "status", style: "margin:0;font-size:15px" });
  const plans = row(planned);
  plans.append(outcome);
  ui.stage.prepend(plans);
  const word = ui.text("value", { label: WORDS.word, most: LONGEST });
  word.el.style = "flex:0 1 20rem;min-width:0";
  word.el.remove(); // until there is a model that reads it

  async function open() {
    await (globalThis.tfmKit ? lazy("engine.js") : fromKernel(ui));
    if (!globalThis.tfmPlayground) throw new Error(WORDS.damaged);
    engine = globalThis.tfmPlayground.open(hear);
  }

  /* The run of these settings goes on, or a new one begins, and the former stays as a ghost. */
  async function begun(message, anew) {
    trouble = undefined;
    going = Boolean(message.go);
    ui.stage.dataset.busy = "";
    try {
      if (!engine) await (opening ??= open());
      if (anew || !ui.get("trained") || !fits() || last().step >= updates || run.broken) {
        if (run.moments.length > 1) former = run;
        run = { settings: settings(), moments: [{ step: 0, exact: 0, word: written(ids()), written: "", weights: [] }] };
        ui.set({ trained: true });
        message.serial = run.serial = ++serial;
        message.train = { ...globalThis.tfmPlayground.SETTINGS, ...run.settings, updates };
      }
      engine.tell({ ...message, ids: ids() });
    } catch (error) {
      opening = null; // it may be tried again
      hear({ failed: error.message });
    }
  }
  function hear({ failed, step, look, rests, serial: of, ...told }) {
    delete ui.stage.dataset.busy;
    if (!failed && (!ui.get("trained") || of !== run.serial)) return; // of a run that has ended
    if (failed) [trouble, going] = [failed, false];
    else if (Number.isNaN(told.loss)) [run.broken, run.now, going] = [step, null, false];
    else {
      if (rests) going = false;
      pace = told.pace ?? pace;
      const follows = ui.get("step") >= last().step; // otherwise a hand went back to a kept moment
      const now = { ...last(), step, ...told, word: written(ids()), written: written(look.ids), weights: look.weights[`decoder.${run.settings.n_layers - 1}.cross_attention`] ?? look.weights.attention ?? [] };
      run.now = now;
      if (told.exact != null) run.moments = [...run.moments.filter((moment) => moment.step < step), now];
      ui.set({ ...(follows && { step }), ...(rests && { moments: run.moments, ran: run.settings }) });
      if (follows && !rests) return; // it is drawn already
    }
    draw();
  }
  ui.on("trained", () => {
    if (ui.get("trained")) return void (engine || ui.set({ trained: false })); // a link brings settings, but no weights
    if (engine) engine.tell({ go: (going = false) });
    [run, former, trouble] = [recorded];
  });

  /* What an experiment changes waits for the guess and the button; what a hand changes is trained at once. */
  const plan = () => experiments[ui.get("experiment")];
  const asPlanned = () => same({ ...recorded.settings, ...plan().change, seed: ui.get("seed") }, settings());
  ui.on("experiment", () => {
    if (!plan()) return;
    ui.set({ ...recorded.settings, ...plan().change, guess: -1 });
    if (going) begun({ go: false });
  });
  const changed = () => {
    changing = false;
    if (plan() && !asPlanned()) ui.set({ experiment: -1 });
    if (!plan() && ui.get("trained") && !fits()) begun({ go: true }, true);
  };
  for (const name of SWITCHES) ui.on(name, () => changing || queueMicrotask(changed, (changing = true)));
  ui.on("value", () => ui.get("trained") && ids().length && engine.tell({ ids: ids() }));
  const hidden = () => document.hidden && going && begun({ go: false });
  document.addEventListener("visibilitychange", hidden);
  ui.until(() => (document.removeEventListener("visibilitychange", hidden), engine?.close()));

  /* A run by what differs from the recorded one. */
  const NAMES = { machine: WORDS.machine, positions: WORDS.positions, n_heads: WORDS.heads, residuals: WORDS.residuals, causal: WORDS.causal, norm: WORDS.norm, scale: "√d_k", feed_forward: WORDS.forward, n_layers: WORDS.layers, rate: WORDS.rate, warmup: WORDS.warmup, smoothing: WORDS.smoothing, seed: WORDS.seed };
  const named = (of) => {
    const changed = Object.entries(NAMES).filter(([trait]) => of[trait] !== recorded.settings[trait]);
    const parts = changed.map(([trait, name]) => told(of[trait] === false ? WORDS.not : WORDS.with, { name, value: machines[of[trait]] ?? positions[of[trait]] ?? norms[of[trait]] ?? String(of[trait]) }));
    return [tasks[of.task], ...parts].join(", ");
  };
  const curve = ({ moments }, name, scale) => moments.filter((moment) => moment[name] != null).map((moment) => [moment.step, scale(moment[name])]);

  function draw() {
    const now = shown();
    train.el.textContent = going ? WORDS.pause : !ui.get("trained") || !fits() ? WORDS.train : last().step < updates && !run.broken ? WORDS.on : WORDS.again;
    once.enable(!going);
    planned[1].enable(Boolean(plan()));
    set(readout, { "aria-live": going ? "off" : "polite" }); // too fast to be read out
    its.forEach(({ enable }) => enable(ui.get("machine") === TRANSFORMER));
    if (drawer.isConnected !== ui.get("more")) ui.get("more") ? ui.stage.prepend(drawer) : drawer.remove();
    const [line, other] = ui.get("trained") ? [word.el, asked] : [asked, word.el];
    if (other.isConnected) other.replaceWith(line);
    const answer = written(TASKS[run.settings.task](read(now.word)));
    spell(asked, now.word, now.word);
    spell(answered, now.written, answer);
    const places = (text) => [...text, WORDS.end];
    const { machine, n_heads } = run.settings;
    const heads = machine === TRANSFORMER ? n_heads : machine === "gru" ? 0 : 1;
    scale.hidden = !heads;
    where.textContent = heads ? WORDS.where : WORDS.nowhere;
    if (looks.children.length !== heads) looks.replaceChildren(...maps.slice(0, heads).map(({ box }) => box));
    maps.slice(0, heads).forEach(({ update }, head) => {
      if (!now.weights[head]) return;
      const [values, rows] = [now.weights[head], places(now.written)]; // what comes after the end counts for nothing
      update({ rows: values.map((_, i) => rows[i] ?? " "), cols: places(now.word), values: values.map((row, i) => (i < rows.length ? row : row.map(() => 0))), row: Math.min(ui.get("focus"), values.length - 1), max: 1 });
    });
    for (const [{ before, line, here }, name, scale] of [[exact, "exact", percent], [loss, "loss", (x) => clamp(x, 0, 3)]]) {
      before(former ? curve(former, name, scale) : []);
      line(curve(run, name, scale));
      here(now[name] == null ? null : [now.step, scale(now[name])], "");
    }
    note.replaceChildren(...(former ? indexed(told(WORDS.ghost, { run: named(former.settings) })) : []));
    retext(outcome, verdict());
    ui.say(...sentences(now));
  }

  /* What was expected of an experiment, and what has happened. */
  function verdict() {
    if (!plan()) return "";
    const guess = WORDS.outcomes[ui.get("guess")];
    if (!ui.get("trained") || !fits() || last().step < updates) return told(guess ? WORDS.guessed : WORDS.planned, { guess, train: WORDS.train });
    const found = WORDS.outcomes[BOUNDS.filter((bound) => last().exact < bound).length];
    return `${told(!guess ? WORDS.found : guess === found ? WORDS.as : WORDS.other, { guess, found })} ${plan().why}`;
  }

  function sentences(now) {
    const said = told(WORDS.at, { step: h("b", {}, String(now.step)), all: updates, exact: h("b", {}, String(Math.round(COUNT * (now.exact ?? 0)))), count: COUNT });
    const more = [now.loss != null && told(WORDS.lost, { loss: two(now.loss) }), now.rate && told(WORDS.rated, { rate: now.rate.toPrecision(2) }), going && pace && told(WORDS.pace, { pace: Math.round(pace) })].filter(Boolean);
    return [
      h("div", {}, said),
      h("div", {}, more.join(" · ")),
      ...(run.broken ? [h("div", { class: "tfm-bad" }, told(WORDS.broken, { step: run.broken }))] : []),
      ...(trouble ? [h("div", { class: "tfm-bad" }, told(WORDS.failed, { error: trouble }))] : fits() || plan() ? [] : [h("div", {}, indexed(told(WORDS.rests, { train: WORDS.train, run: named(settings()) })))]),
    ];
  }

  const csv = () => [["update", "loss", "exact"], ...run.moments.filter(({ loss: x }) => x != null).map(({ step, loss: x, exact: share }) => [step, x, share])];
  return ui.start(draw, { csv });
}

/* Letters side by side; those that differ from the right ones are marked. */
function spell(line, text, right) {
  const marks = [...text].map((letter, i) => h("span", letter === right[i] ? {} : { class: "tfm-bad" }, letter));
  line.replaceChildren(...marks);
}

/* In Jupyter the kernel sends the engine once. */
function fromKernel(ui) {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => (ui.set({ wanted: false }), reject(new Error(KIT.silent))), PATIENCE);
    ui.on("engine", () => {
      if (!ui.get("engine")) return;
      clearTimeout(late);
      (0, globalThis.eval)(ui.get("engine"));
      ui.set({ wanted: false, engine: "" });
      resolve();
    });
    ui.set({ wanted: true });
  });
}

export default { render, words: WORDS };
