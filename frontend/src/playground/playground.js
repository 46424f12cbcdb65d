/* Playground widget: a Transformer is trained in the page; its attention, what it writes and how often it is right, while it learns. */

import { below, card, clamp, fixed, fold, h, heatmap, indexed, legend, many, plot, range, retext, set, told } from "../kit/index.js";
import { curve, guesses, last, opened as started, percent, spell, SPELLED, tried, verdict as judged, WORDS as SHARED } from "./shared/experiments.js";

const WORDS = {
  train: "Train",
  pause: "Pause",
  on: "Go on",
  again: "Train again",
  once: "One update",
  switches: {
    machine: "machine",
    task: "task",
    positions: "positions",
    n_heads: "heads",
    residuals: "residual connections",
    causal: "causal mask",
    norm: "norm",
    scale: "division by √d_k",
    feed_forward: "feed-forward",
    n_layers: "layers on each side",
    d_model: "d_model",
    longest: "longest word",
    rate: "highest learning rate",
    warmup: "warm-up",
    smoothing: "smoothing",
    seed: "seed",
  },
  experiment: "experiment",
  free: "none, play freely",
  numbered: "{number}. {title}",
  planned: "How many unseen words will it write? Your guess starts the training.",
  expected: "Your guess: {guess}.",
  gradients: "gradients",
  rival: "race against",
  against: ", and a race against {machine}",
  nobody: "nobody",
  save: "Save the weights",
  open: "Open a model",
  read: "It has {count} parameters.",
  opened: "This is the model of {name}. Press “{train}” for: {next}.",
  saved: "Saved. In a terminal: {command}",
  rivals: "{machine} writes {answered}",
  raced: "{machine}: {exact} of {count} after update {step}",
  gradient: "length of the gradient",
  done: "{title} (tried)",
  sides: "{encoder} and {decoder}",
  last: ", dashed: the last layer",
  plotted: "{label}, against the updates",
  loss: "loss in nats per token",
  nowhere: "It looks at nothing: one vector is all that its decoder gets of the word.",
  looks: "attention",
  map: "Attention of head {head}: what asks down, what it looks at across",
  cell: "{doing} {letter}, looking at {source}: {weight}",
  doing: { cross: "writing", encoder: "reading", decoder: "writing" },
  spelled: "It reads {asked} and writes {answered}",
  ghost: "dashed: the run before, {run}",
  with: "{name} {value}",
  not: "no {name}",
  at: "Update {step} of {all}: {exact} of {count} unseen {nouns} are written exactly",
  lost: "loss {loss} nats",
  rated: "learning rate {rate}",
  pace: "{pace} updates a second",
  resting: "A recorded run. “{train}” begins one of your own{rival}.",
  other: "This was: {run}. Press “{train}” for: {next}{rival}.",
  yours: "Your run: {run}",
  newest: "it has come to update {step}",
  lacks: "it doesn't know {letters}",
  cut: "it reads {count} at most",
  empty: "it can read nothing of this, so the answer is for {word}",
  grey: {
    its: "A GRU has none of the grey parts.",
    longest: "Numbers and dates have no longest word.",
  },
};

const NAMES = WORDS.switches;
const SWITCHES = Object.keys(NAMES);
const HEADS = [1, 2, 4];
const SIZES = [8, 16, 32, 64];
const RATES = [0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064];
const WARMUPS = [1, 10, 25, 50, 100, 200, 400];
const SMOOTHINGS = [0, 0.05, 0.1, 0.2, 0.3];
const [SHORT, LONG] = [4, 16]; // the longest words that can be asked for
const TYPED = 48; // characters
const TRANSFORMER = "transformer";
const SAID = "display:flex;flex-wrap:wrap;align-items:center;gap:0 10px;min-height:48px";
/* A narrow card keeps room for a long sentence, so that nothing below it moves; its unfolded settings scroll, so that the picture keeps its room. */
const STYLE = ".tfm-whose{min-height:1lh}.tfm-judged{min-height:2lh}@container(max-width:600px){.tfm-whose,.tfm-judged{min-height:3lh}.tfm-more>div{max-height:6.5rem;overflow-y:auto}}";
const CEILINGS = [3.5, 4.5, 6, 10, 30, 100]; // of the loss
const two = fixed(2);

function render({ model, el }) {
  const ui = card({ model, el, state: ["trained", "experiment", "guess", ...SWITCHES, "rival", "value", "step", "gradients", "map", "focus"], fits: { focus: below(LONG + 1) } }); // `trained`, whether a run of the reader is shown, first: so Reset stops it
  const { machines, tasks, asks, nouns, examples, maps, where, count: COUNT, positions, update, exact: learnt, head: number, norms, steps, experiments } = ui.get("shared");
  const updates = ui.get("updates");
  const switches = (of) => Object.fromEntries(SWITCHES.map((name) => [name, of(name)]));
  const settings = () => switches((name) => ui.get(name));
  const opened = () => run().opened;
  const same = (a, b) => SWITCHES.every((name) => a[name] === b[name]);
  const text = () => ui.get("value");

  /* A run is { settings, moments, now?, broken? }, as the engine's course.js keeps it. */
  const recorded = { settings: ui.get("ran"), moments: ui.get("moments") };
  let [course, rival, opening, former, failure, changing] = [];
  let newest = recorded.moments.at(-1).step; // the update up to which the picture has followed the run
  const run = () => (ui.get("trained") && course?.run) || recorded;
  const at = (run, step) => (step >= last(run).step ? last(run) : run.moments.findLast((moment) => moment.step <= step) ?? run.moments[0]);
  const shown = () => at(run(), ui.get("step"));
  const fits = () => !opened() && same(run().settings, settings());
  const trouble = () => failure ?? course?.trouble;

  const status = h("p", { class: "tfm-caption tfm-whose", style: "margin:0" });
  const picture = pictureOf(ui, { number, update, learnt, updates, wheres: where });
  ui.stage.append(status, picture.el);

  const train = ui.button("train", { label: WORDS.train, onclick: () => (course?.going ? stop() : begun({ go: true })) });
  const readout = ui.stage.nextElementSibling;
  train.el.style = "font-weight:700;font-size:17px;min-width:8.5rem;height:auto;padding:6px 20px;color:var(--tfm-card);background:var(--tfm-ink)";
  const once = ui.button("once", { label: WORDS.once, onclick: () => begun({ once: true }) });
  [train, once].forEach(({ el: button }) => set(button, { "data-process": "" })); // what follows takes its time
  const { el: scrubber } = ui.slider("step", { label: update, min: 0, max: updates, step: 25, format: String });
  scrubber.style.flex = "1 1 220px";
  ui.bar.append(h("div", { class: "tfm-player", style: "grid-column:1/-1;flex-wrap:wrap;align-items:center" }, train.el, once.el, scrubber));
  /* Parts that only a Transformer has. */
  const its = [ui.select("positions", { label: NAMES.positions, options: Object.entries(positions) })];
  ui.select("task", { label: NAMES.task, options: Object.entries(tasks) });
  const titles = experiments.map(({ title }, i) => told(WORDS.numbered, { number: i + 1, title }));
  const experiment = ui.select("experiment", { label: WORDS.experiment, options: [[-1, WORDS.free], ...titles.map((title, i) => [i, title])] });
  const guess = guesses(ui, (guess) => (ui.set({ guess }), begun({ go: true }, true)));
  ui.select("machine", { label: NAMES.machine, options: Object.entries(machines) });
  its.push(
    ui.select("n_heads", { label: NAMES.n_heads, options: HEADS }),
    ui.toggle("residuals", { label: NAMES.residuals }),
    ui.toggle("causal", { label: NAMES.causal }),
    ui.select("norm", { label: NAMES.norm, options: Object.entries(norms) }),
    ui.toggle("scale", { label: indexed(NAMES.scale) }),
    ui.toggle("feed_forward", { label: NAMES.feed_forward }),
    ui.slider("n_layers", { label: NAMES.n_layers, min: 1, max: 6, format: String }),
  );
  const looks = ui.select("map", { label: WORDS.looks, options: Object.entries(maps) });
  ui.select("d_model", { label: indexed(NAMES.d_model), options: SIZES });
  const longest = ui.slider("longest", { label: NAMES.longest, min: SHORT, max: LONG, format: String });
  ui.slider("rate", { label: NAMES.rate, values: RATES, format: String });
  ui.slider("warmup", { label: NAMES.warmup, values: WARMUPS, format: (count) => many(steps, count) });
  ui.slider("smoothing", { label: NAMES.smoothing, values: SMOOTHINGS, format: String });
  ui.slider("seed", { label: NAMES.seed, min: 0, max: 9, format: String });
  ui.select("rival", { label: WORDS.rival, options: [["", WORDS.nobody], ...Object.entries(machines)] });
  ui.toggle("gradients", { label: WORDS.gradients });
  const saved = h("code", { role: "status" });
  const { el: save } = ui.button("weights", {
    label: WORDS.save,
    onclick() {
      const file = `${ui.get("task")}.safetensors`;
      course.save(file);
      saved.textContent = told(WORDS.saved, { command: `tfm translate --model ${file} "${text()}"` });
    },
  });
  const { el: choose } = ui.button("open", { label: WORDS.open, onclick: () => files.click() });
  const files = h("input", { type: "file", multiple: true, hidden: true, accept: ".safetensors,.json", onchange: () => opens(files.files) });
  const grey = h("p", { class: "tfm-caption", style: "margin:0" });
  let done = tried();
  const ticks = experiment.el.querySelectorAll("option");
  const outcome = h("p", { class: "tfm-judged tfm-outcome", role: "status", style: "margin:0;font-size:15px" });
  status.after(outcome);
  const word = ui.text("value", { label: asks.reverse, most: TYPED });
  word.el.style = "flex:1 0 calc(100% - 5rem);max-width:28rem;min-width:0";
  word.el.remove(); // until there is a model that reads it
  looks.el.remove();
  fold(ui);
  ui.bar.lastChild.lastChild.append(h("div", { class: "tfm-row" }, save, choose, saved, files));
  ui.bar.append(grey);
  [save, choose].forEach((button) => set(button, { "data-process": "" }));

  /* What needs the engine, and if it fails, says so. */
  async function engaged(act) {
    ui.stage.dataset.busy = "";
    failure = undefined;
    try {
      course ??= await (opening ??= started(ui, heard));
      await act();
      ui.set({ trained: true });
    } catch (error) {
      opening = null; // it may be tried again
      failure = error.message;
      delete ui.stage.dataset.busy;
    }
    draw();
  }

  /* The run of these settings goes on, or a new one begins, and the former stays as a ghost. */
  const begun = (message, anew) =>
    engaged(() => {
      const fresh = anew || !ui.get("trained") || !fits() || last(run()).step >= updates || run().broken;
      saved.textContent = "";
      if (fresh) {
        if (!former || last(run()).step >= updates / 4) former = run().moments.length > 1 ? run() : former; // not what was soon given up
        newest = 0;
      } else ui.set({ step: newest });
      course.tell({ ...message, text: text() }, fresh ? { ...settings(), updates } : undefined);
      race(message, fresh);
    });

  /* A model that was trained elsewhere. */
  const opens = (chosen) =>
    engaged(async () => {
      saved.textContent = "";
      stop();
      try {
        await course.open([...chosen], text());
      } catch (error) {
        saved.textContent = error.message; // beside the button; what was shown, stays
        return;
      }
      rival?.rest();
      const { task } = course.run.settings;
      ui.set({ ...(tasks[task] && { task }), step: (newest = 0) });
    });

  const stop = () => [course, rival].forEach((each) => each?.going && each.tell({ go: false }));

  /* The same task for another machine, whose parts are all there. */
  function race(message, fresh) {
    const machine = ui.get("rival");
    if (!machine) return;
    rival ??= globalThis.tfmPlayground.course(() => course.going || draw());
    const begins = fresh || !rival.run;
    if (!begins && last(rival.run).step >= updates) return;
    const { task, d_model, longest, seed } = settings();
    rival.tell({ ...message, text: text() }, begins ? { ...recorded.settings, machine, task, d_model, longest, seed, updates } : undefined);
  }

  function heard({ run: now, going, trouble }) {
    delete ui.stage.dataset.busy;
    const follows = ui.get("step") >= newest; // otherwise a hand went back to a kept moment
    if (now) newest = last(now).step;
    if (now && !trouble) ui.set({ ...(follows && { step: newest }), ...(!going && { moments: now.moments.map(({ maps, ...moment }) => moment), ran: switches((name) => now.settings[name]) }) });
    if (!follows || !going) draw(); // otherwise it is drawn already
  }
  ui.on("trained", () => {
    if (ui.get("trained")) return void (course?.run || ui.set({ trained: false })); // a link brings settings, but no weights
    [course, rival].forEach((each) => each?.rest());
    [former, failure] = [];
  });
  ui.on("rival", () => {
    rival?.rest();
    if (ui.get("rival") && again()) begun({ go: true }, true);
  });

  /* What an experiment changes waits for the guess and the button; what a hand changes is trained at once. */
  const plan = () => experiments[ui.get("experiment")];
  const asPlanned = () => same({ ...recorded.settings, ...plan().change, seed: ui.get("seed") }, settings());
  const again = () => ui.get("trained") && (course.going || last(run()).step >= updates); // a run that rests, waits
  let [byHand, planning] = [];
  ui.on("experiment", () => {
    if (plan()) stop();
    planning = !byHand; // what comes with an experiment, or with its end, waits for the button
    ui.set({ ...(!byHand && { ...recorded.settings, ...plan()?.change, rival: "" }), guess: -1 });
  });
  const changed = () => {
    changing = false;
    if (plan() && !asPlanned()) {
      byHand = true; // the switches stay as they are
      ui.set({ experiment: -1 });
      byHand = false;
    }
    if (!plan() && !fits() && again() && !planning) begun({ go: true }, true);
    planning = false;
  };
  for (const name of SWITCHES) ui.on(name, () => changing || queueMicrotask(changed, (changing = true)));
  /* A model that rests answers for any of its kept updates. */
  const ask = () => {
    if (!ui.get("trained")) return;
    if (ui.get("step") > newest) ui.set({ step: newest });
    const kept = ui.get("step");
    [course, rival].forEach((each) => each?.run && each.tell({ text: text(), at: kept < last(each.run).step && !each.going ? kept : undefined }));
  };
  ui.on("value", ask);
  ui.on("step", () => course?.going || ask());
  const example = () => examples[ui.get("task")] ?? examples.reverse;
  let asked = example();
  ui.on("task", () => asked !== example() && ui.set({ value: (asked = example()) }));
  const hidden = () => document.hidden && stop();
  document.addEventListener("visibilitychange", hidden);
  ui.until(() => (document.removeEventListener("visibilitychange", hidden), [course, rival].forEach((each) => each?.close())));

  /* A run by what differs from the recorded one. */
  const named = (of) => {
    const changed = Object.entries(NAMES).filter(([trait]) => trait !== "task" && of[trait] !== recorded.settings[trait]);
    const parts = changed.map(([trait, name]) => told(of[trait] === false ? WORDS.not : WORDS.with, { name, value: machines[of[trait]] ?? positions[of[trait]] ?? norms[of[trait]] ?? String(of[trait]) }));
    return [tasks[of.task], ...parts].join(", ");
  };

  function draw() {
    const [now, going] = [shown(), course?.going];
    train.el.textContent = going ? WORDS.pause : !ui.get("trained") || !fits() ? WORDS.train : last(run()).step < updates && !run().broken ? WORDS.on : WORDS.again;
    once.el.style.visibility = going || (ui.get("trained") && fits() && last(run()).step >= updates) ? "hidden" : "";
    const has = { its: ui.get("machine") === TRANSFORMER, longest: example() === examples.reverse };
    its.forEach(({ enable }) => enable(has.its));
    longest.enable(has.longest); // a word of letters
    save.hidden = !course?.canSave;
    retext(grey, Object.keys(has).filter((part) => !has[part]).map((part) => WORDS.grey[part]).join(" "));
    if (!now.maps?.encoder) looks.el.remove();
    else if (!looks.el.isConnected) picture.columns.firstChild.prepend(looks.el);
    saved.hidden = !saved.textContent;
    guess.el.hidden = !plan();
    guess.show(ui.get("guess"));
    outcome.hidden = !plan();
    set(readout, { "aria-live": going ? "off" : "polite" }); // too fast to be read out
    retext(word.el.firstChild, asks[ui.get("task")] ?? asks.reverse);
    const [line, other] = ui.get("trained") ? [word.el, picture.asked] : [picture.asked, word.el];
    if (other.isConnected) other.replaceWith(line);
    const alike = (other) => run() !== recorded && ["task", "longest"].every((name) => other?.settings[name] === run().settings[name]);
    const ghost = [former, recorded].find(alike); // runs of other tasks cannot be compared
    const raced = rival?.run && { run: rival.run, now: at(rival.run, now === last(run()) ? updates : now.step), name: machines[rival.run.settings.machine] };
    picture.draw({ run: run(), now, former: ghost, raced, row: ui.get("focus"), map: ui.get("map"), gradients: ui.get("gradients"), ghost: ghost && named(ghost.settings) });
    status.replaceChildren(...(opened() ? [state()] : indexed(state())));
    retext(outcome, verdict());
    titles.forEach((title, i) => retext(ticks[i + 1], done.has(i) ? told(WORDS.done, { title }) : title));
    ui.say(...sentences(now, raced));
  }

  /* Which run is shown, and what becomes of the word. */
  function state() {
    const rival = ui.get("rival") && told(WORDS.against, { machine: machines[ui.get("rival")] });
    if (ui.get("trained") && opened()) return told(WORDS.opened, { name: opened(), train: WORDS.train, next: named(settings()) });
    if (!fits()) return told(WORDS.other, { run: named(run().settings), train: WORDS.train, next: named(settings()), rival });
    if (!ui.get("trained")) return told(WORDS.resting, { train: WORDS.train, rival });
    const { unknown, most, none } = course.doubts(text());
    const doubts = [shown() !== last(run()) && told(WORDS.newest, { step: last(run()).step }), unknown.length && told(WORDS.lacks, { letters: unknown.join(", ") }), most && told(WORDS.cut, { count: most }), none && told(WORDS.empty, { word: [last(run()).word].flat().join(" ") })];
    return [told(WORDS.yours, { run: named(run().settings) }), ...doubts.filter(Boolean)].join("; ");
  }

  /* What was expected of an experiment, and what has happened. */
  function verdict() {
    if (!plan()) return "";
    const guess = SHARED.outcomes[ui.get("guess")];
    if (!guess && !(ui.get("trained") && fits())) return WORDS.planned;
    if (!ui.get("trained") || !fits() || last(run()).step < updates) return guess ? told(WORDS.expected, { guess }) : "";
    if (guess && !done.has(ui.get("experiment"))) done = tried(ui.get("experiment"));
    return `${judged(ui.get("guess"), last(run()).exact, COUNT)} ${plan().why}`;
  }

  function sentences(now, raced) {
    if (opened() && !trouble()) return [told(WORDS.read, { count: run().count.toLocaleString("en") })];
    const right = (moment) => String(Math.round(COUNT * (moment.exact ?? 0)));
    const said = told(WORDS.at, { step: h("b", {}, String(now.step)), all: updates, exact: h("b", {}, right(now)), count: COUNT, nouns: nouns[run().settings.task] ?? nouns.reverse });
    const pace = course?.going && course.pace;
    const more = [now.loss != null && told(WORDS.lost, { loss: now.loss.toPrecision(3) }), now.rate && told(WORDS.rated, { rate: now.rate.toPrecision(2) }), pace && told(WORDS.pace, { pace: Math.round(pace) })].filter(Boolean);
    return [
      h("div", {}, said),
      ...(raced ? [h("div", { class: "tfm-two" }, told(WORDS.raced, { machine: raced.name, exact: right(raced.now), count: COUNT, step: raced.now.step }))] : []),
      h("div", {}, more.join(" · ")),
      ...(run().broken ? [h("div", { class: "tfm-bad" }, told(SHARED.broken, { step: run().broken }))] : []),
      ...(trouble() ? [h("div", { class: "tfm-bad" }, told(SHARED.failed, { error: trouble() }))] : []),
    ];
  }

  const csv = () => [["update", "loss", "exact"], ...run().moments.filter(({ loss: x }) => x != null).map(({ step, loss: x, exact: share }) => [step, x, share])];
  return ui.start(draw, { csv });
}

/* What it writes, where it looks, and how it learns. */
function pictureOf(ui, { number, update, learnt, updates, wheres }) {
  let seen; // what the maps show
  const [asked, answered, against] = ["", "", ""].map(() => h("b", { style: SPELLED }));
  const first = h("div", { style: SAID }, told(WORDS.spelled, { asked, answered }));
  const opponent = h("span", { class: "tfm-two" });
  const second = h("div", { style: SAID }, told(WORDS.rivals, { machine: opponent, answered: against }));
  const maps = range(Math.max(...HEADS)).map((head) => {
    const names = told(WORDS.map, { head: head + 1 });
    const weight = (i, j) => two(seen.weights[head]?.[i]?.[j] ?? 0);
    const map = heatmap(ui, { rows: [""], cols: [""], name: `head ${head + 1}`, label: names, onFocus: (i) => ui.set({ focus: i }), describe: (i, j) => told(WORDS.cell, { doing: WORDS.doing[seen.map], letter: seen.rows[i] ?? SHARED.end, source: seen.cols[j] ?? SHARED.end, weight: weight(i, j) }), most: 30, letters: 12 });
    return { ...map, box: h("div", { style: "flex:1 1 140px;max-width:300px" }, h("p", { class: "tfm-caption" }, told(number, { head: head + 1 })), map.el) };
  });
  const axis = { label: update, domain: [0, updates] };
  const figure = (label, domain, log) => plot(ui, { x: axis, y: { label, domain, log }, height: 170, label: told(WORDS.plotted, { label }) });
  const learning = figure(learnt, [0, 100]);
  const falling = figure(WORDS.loss, [0, CEILINGS[0]]);
  let ceiling = CEILINGS[0];
  const slopes = figure(WORDS.gradient, [1e-4, 10], true);
  const [exact, loss] = [learning, falling].map((each) => ({
    before: each.line({ colour: "soft", dash: "5 4" }),
    other: each.line({ colour: "two" }),
    line: each.line({ colour: "one" }),
    there: each.dot({ colour: "two", r: 5 }),
    here: each.dot({ colour: "one", r: 6 }),
  }));
  const layers = ["encoder", "decoder"].flatMap((side) => [0, 1].map((last) => ({ side, last, line: slopes.line({ colour: side, dash: last ? "5 4" : undefined }) })));
  const looks = h("div", { style: "display:flex;flex-wrap:wrap;gap:0 16px" });
  const scale = legend({ max: 1 });
  const where = h("p", { class: "tfm-caption" });
  const note = h("p", { class: "tfm-caption", style: "min-height:1lh" });
  const last_layer = h("span", {}, WORDS.last);
  const key = h("p", { class: "tfm-caption", hidden: true, style: "margin:0" }, told(WORDS.sides, Object.fromEntries(["encoder", "decoder"].map((side) => [side, h("span", { style: `border-bottom:3px solid var(--tfm-${side})` }, side)]))), last_layer);
  const columns = h("div", { class: "tfm-columns" }, h("div", {}, where, looks, scale), h("div", {}, learning.el, falling.el, note, slopes.el, key));
  const el = h("div", {}, first, columns);
  const point = (moment, name, scale) => (moment?.[name] == null ? null : [moment.step, scale(moment[name])]);

  function draw({ run, now, former, raced, row, map, gradients, ghost }) {
    spell(asked, now.word, now.word);
    spell(answered, now.written, now.right);
    if (!raced) second.remove();
    else {
      if (!second.isConnected) first.after(second);
      retext(opponent, raced.name);
      spell(against, raced.now.written, raced.now.right);
    }
    const places = (text) => [...text, SHARED.end];
    const { weights, rows, cols } = now.maps?.[map] ?? { weights: now.weights, rows: places(now.written), cols: places(now.word) };
    if (!now.maps?.[map]) map = "cross";
    if (weights.length || !seen) seen = { weights, rows, cols, map };
    const { machine, n_heads } = run.settings;
    const heads = machine === TRANSFORMER ? n_heads : machine === "gru" ? 0 : 1;
    scale.hidden = !heads;
    where.textContent = heads ? wheres[map] : WORDS.nowhere;
    if (looks.children.length !== heads) looks.replaceChildren(...maps.slice(0, heads).map(({ box }) => box));
    maps.slice(0, heads).forEach(({ update }, head) => {
      if (!weights[head]) return;
      maps[head].box.style.flexBasis = `${Math.min(300, (Array.isArray(now.word) ? 26 : 14) * cols.length + 30)}px`; // so that its letters can be read
      const values = weights[head].map((row, i) => cols.map((_, j) => (i < rows.length ? Math.round(100 * row[j]) / 100 : 0))); // what comes after the end counts for nothing; in hundredths fewer cells change
      update({ rows: values.map((_, i) => rows[i] ?? "·"), cols, values, row: Math.min(row, rows.length - 1), max: 1 });
    });
    const most = Math.max(...[run, former, raced?.run].flatMap((each) => each?.moments.map(({ loss: x }) => x ?? 0) ?? []), now.loss ?? 0);
    const fitting = CEILINGS.find((ceiling) => most <= ceiling) ?? CEILINGS.at(-1);
    if (fitting !== ceiling) falling.domain({ y: [0, (ceiling = fitting)] });
    for (const [{ before, other, line, there, here }, name, scale] of [[exact, "exact", percent], [loss, "loss", (x) => Math.min(x, ceiling)]]) {
      before(former ? curve(former, name, scale) : []);
      other(raced ? curve(raced.run, name, scale) : []);
      line(curve(run, name, scale));
      there(point(raced?.now, name, scale), "");
      here(point(now, name, scale), "");
    }
    note.replaceChildren(...(ghost ? indexed(told(WORDS.ghost, { run: ghost })) : []));
    slopes.el.hidden = key.hidden = !gradients;
    last_layer.hidden = run.settings.n_layers < 2;
    if (gradients)
      for (const { side, last, line } of layers) {
        const path = `${side}.${last ? run.settings.n_layers - 1 : 0}`;
        line(last && run.settings.n_layers < 2 ? [] : run.moments.filter(({ norms }) => norms?.[path] > 0).map(({ step, norms }) => [step, clamp(norms[path], 1e-4, 10)]));
      } // what is hidden has no width, and asking for it costs a layout
  }
  el.append(h("style", {}, STYLE));
  return { el, columns, asked, draw };
}

export default { render, words: { SHARED, WORDS } };
