/* Draw a beam as a tree: tree(kit, label) → { el, show(steps, upTo) }; steps[i] = [{ piece, logP, from, ended }], best first:
   the hypotheses kept at step i, `from` the index at the step before. The last steps that fit are drawn.           */

const [ROW, TOP, HIGH] = [36, 20, 30];

export function tree({ asRead, h, s, fixed, short, range, onWidth, told }, words, until) {
  const svg = s("svg", { role: "img", "aria-label": words.tree });
  const el = h("div", { class: "tfm-figure-box" }, svg);
  let [room, last] = [0, null];
  const two = fixed(2);

  function draw() {
    room ||= Math.floor(el.getBoundingClientRect().width); // as onWidth reports it
    if (!room || !last) return;
    const { steps, upTo } = last;
    const fit = Math.max(2, Math.floor(room / (room < 420 ? 84 : 104)));
    const first = Math.max(0, upTo - fit);
    const across = Math.min(140, room / fit);
    const rows = Math.max(...steps.map((step) => step.length));
    const pieces = steps.flat().map(({ piece }) => piece);
    const nodes = steps.slice(first, upTo).flatMap((step, column) => {
      const x = column * across;
      const title = s("text", { x, y: 11, class: "tfm-axis" }, told(words.step, { step: first + column + 1 }));
      return [title, ...step.flatMap((way, rank) => {
        const y = TOP + rank * ROW;
        const back = column > 0 && s("path", { d: `M${x - 26} ${TOP + way.from * ROW + HIGH / 2}C${x - 10} ${TOP + way.from * ROW + HIGH / 2} ${x - 16} ${y + HIGH / 2} ${x} ${y + HIGH / 2}`, class: "tfm-branch" });
        const frame = s("rect", { x, y, width: across - 26, height: HIGH, rx: 5, class: way.ended ? "tfm-branch tfm-ended" : "tfm-branch" });
        const word = s("text", { x: x + 6, y: y + 13 }, short(way.ended ? words.end : asRead(way.piece, pieces), Math.floor((across - 36) / 7.5)));
        return [back, frame, word, s("text", { x: x + 6, y: y + 26, class: "tfm-axis" }, two(way.logP))];
      })];
    });
    svg.replaceChildren(...nodes.filter(Boolean));
    svg.setAttribute("width", room);
    svg.setAttribute("height", TOP + rows * ROW);
    svg.setAttribute("viewBox", `0 0 ${room} ${TOP + rows * ROW}`);
  }
  until(onWidth(el, (width) => ((room = width), draw())));
  return { el, show: (steps, upTo) => ((last = { steps, upTo: Math.min(upTo, steps.length) }), draw()) };
}
