/* player(ui, "value", { …, pace?, stops? })   a slider of the card that plays: play or pause, one step back, one step forth, the
                                      slider as scrubber, and the speed; `pace` is milliseconds per step at speed 1, `stops()` gives the
                                      values that it goes through, if not all. Other options as of ui.slider
   player(ui, "value", { …, flow })   a film: the value flows, one each second, and flow(value) draws each frame; the trait is set when
                                      it stops. The steps go to the `stops`
   player(ui, "value", { steps: () => n, at?, go? })   the same without a slider: the trait, from 0 to n − 1, has a control of its
                                      own. If it is no number, at() tells which step is shown, and go(step) shows another
   Space plays and pauses, the arrow keys move the scrubber. It never starts by itself, plays once, and rests on its last step;
   the scrubber, another control, leaving the view, or a hidden page pauses it. A step beyond the last is the first. With reduced
   motion there is no play, only the steps.
   Returns what ui.slider returns, and play(), stop(), and moves(): whether motion is wanted. */

import { h, s, set } from "./dom.js";
import { WORDS } from "./words.js";

const SPEEDS = [1, 2, 4, 0.5];
const SHAPES = { play: "M3 1l10 6-10 6z", pause: "M3 1h3v12h-3zM8 1h3v12h-3z", back: "M3 1h2v12h-2zM13 1v12l-8-6z", forth: "M1 1l8 6-8 6zM9 1h2v12h-2z" };

export function player(ui, trait, { pace = 700, steps, stops, flow, ...options }) {
  const { min = 0, step = 1, at = reached, go = show } = options;
  let { max } = options;
  let timer, speed = SPEEDS[0];
  const still = globalThis.matchMedia?.("(prefers-reduced-motion: reduce)");

  /* Steps are counted: a trait may be a value between two of them. */
  const values = () => stops?.() ?? options.values;
  const last = () => (steps ? steps() - 1 : values() ? values().length - 1 : Math.floor((max - min) / step + 1e-9));
  function reached() {
    const now = ui.get(trait);
    return values() ? Math.max(0, values().findLastIndex((value) => value <= now)) : Math.floor((now - min) / step + 1e-9);
  }
  function show(to) {
    ui.set({ [trait]: values() ? values()[to] : +(min + to * step).toPrecision(9) });
  }
  const eased = (time) => ui.stage.style.setProperty("--ease", time); // while it plays, each step moves for most of its time
  const clear = () => (flow ? cancelAnimationFrame : clearInterval)(timer);
  const stop = () => {
    clear();
    if (timer && flow) ui.set({ [trait]: +place.toFixed(2) });
    timer = 0;
    eased("");
    name();
  };
  const move = (by) => go((at() + by + last() + 1) % (last() + 1));
  const tick = () => {
    if (at() < last()) move(1);
    if (at() >= last()) stop();
  };
  let [place, then] = [0, 0]; // while it flows: the value between two of the trait, and when it was drawn
  function run(now) {
    place = Math.min(max, place + (Math.max(0, now - then) / 1000) * speed); // the frame may have begun before the press
    then = now;
    slider.show(place);
    flow(place);
    if (place >= max) stop();
    else timer = requestAnimationFrame(run);
  }
  const start = () => {
    if (!flow) {
      clear();
      timer = setInterval(tick, pace / speed);
      eased(`${Math.min(600, (0.7 * pace) / speed)}ms`);
    } else if (!timer) {
      [place, then] = [ui.get(trait) >= max ? min : ui.get(trait), performance.now()];
      timer = requestAnimationFrame(run);
    }
    name();
  };
  const press = () => {
    if (timer) return stop();
    if (!flow) move(1); // from the last step to the first
    start();
  };
  if (flow) ui.on(trait, () => (place = ui.get(trait))); // a hand on the scrubber

  const button = (control, onclick, ...inside) => h("button", { type: "button", class: "tfm-button", "data-control": `${trait} ${control}`, "aria-label": WORDS[control], onclick }, ...inside);
  const icon = (shape) => s("svg", { width: 14, height: 14, fill: "currentcolor", "aria-hidden": "true" }, s("path", { d: SHAPES[shape] }));
  const play = button("play", press, icon("play"));
  const tempo = button("speed", () => {
    speed = SPEEDS[(SPEEDS.indexOf(speed) + 1) % SPEEDS.length];
    if (timer) start();
    name();
  });
  const aside = [button("back", () => (stop(), move(-1)), icon("back")), button("forth", () => (stop(), move(1)), icon("forth"))];
  const slider = steps ? { el: h("span", {}) } : ui.slider(trait, options);
  const group = h("span", { class: "tfm-player" }, aside);
  if (steps) ui.bar.append(group);
  else slider.el.before(group);
  group.append(slider.el);
  const caption = ui.stage.nextElementSibling; // too fast to be read out
  function name() {
    if (flow) set(caption, { "aria-live": timer ? "off" : "polite" });
    const now = timer ? "pause" : "play";
    if (still?.matches) return void [play, tempo].forEach((each) => each.remove());
    if (!play.isConnected) group.prepend(play), slider.el.before(tempo);
    set(play.querySelector("path"), { d: SHAPES[now] });
    set(play, { "aria-label": WORDS[now] });
    set(tempo, { "aria-label": `${WORDS.speed} ${speed}` });
    if (tempo.textContent !== `${speed}×`) tempo.textContent = `${speed}×`;
  }
  name();

  const key = (event) => {
    if (event.key !== " " || event.target.type !== "range" || still?.matches) return;
    event.preventDefault();
    press();
  };
  const root = ui.stage.parentElement;
  const halt = ({ target, key }) => timer && !(key === " " && group.contains(target)) && ![play, tempo].some((button) => button.contains(target)) && stop();
  const hide = () => timer && document.hidden && stop();
  const seen = new IntersectionObserver(([{ isIntersecting }]) => timer && !isIntersecting && stop());
  seen.observe(ui.stage);
  group.addEventListener("keydown", key);
  const events = ["keydown", "pointerdown"];
  events.forEach((event) => root.addEventListener(event, halt, true));
  document.addEventListener("visibilitychange", hide);
  still?.addEventListener?.("change", stop);
  ui.until(() => {
    clear();
    seen.disconnect();
    document.removeEventListener("visibilitychange", hide);
    still?.removeEventListener?.("change", stop);
  });
  const { upTo, enable } = slider;
  return Object.assign(slider, {
    moves: () => !still?.matches,
    stop: () => timer && stop(),
    play: () => timer || still?.matches || press(),
    upTo: (most, now) => ((max = most), upTo(most, now)),
    enable(yes) {
      enable(yes);
      for (const each of [play, tempo, ...aside]) each.disabled = !yes;
    },
  });
}
