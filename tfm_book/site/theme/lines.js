// The lines of a solution, to be put in order and indented: an exercise for who has no Python here.
window.tfmLines = (bar, { lines, wrong }, passed) => {
  const make = (tag, properties, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };
  const button = (textContent, label, act) => {
    const made = make("button", { type: "button", textContent, title: label });
    made.setAttribute("aria-label", label);
    made.addEventListener("click", act);
    return made;
  };
  const all = [...lines.map(([text], i) => ({ text, i, depth: 0 })), ...wrong.map(([text, said]) => ({ text, said, depth: 0 }))];
  const first = all.shift();
  // One order for everybody, which is not the right one.
  const pool = all.map((line, at) => [(at * 7 + line.text.length * 13) % 29, line]).sort(([a], [b]) => a - b).map(([, line]) => line);
  const mine = [first];
  const code = (text) => make("code", { textContent: text });
  const words = (text) => text.split(/`([^`\n]+)`/).map((part, i) => (i % 2 ? code(part) : part));

  const answer = make("ol", { className: "tfm-puzzle" });
  const rest = make("ul", { className: "tfm-puzzle tfm-pool" });
  answer.setAttribute("aria-label", "Your answer");
  rest.setAttribute("aria-label", "Lines to choose from; some are wrong");
  const out = make("div", { className: "tfm-out", role: "status" });
  const heard = make("span", { className: "tfm-unseen", role: "status" });

  function draw(focus) {
    answer.replaceChildren(...mine.map((line, at) => item(line, at)));
    rest.replaceChildren(...pool.filter((line) => !mine.includes(line)).map((line) => make("li", {}, take(line))));
    rest.hidden = !rest.firstChild;
    if (focus) (focus === true ? rest.querySelector("button") ?? check : answer.children[mine.indexOf(focus)]).focus();
  }
  const inside = (line) => line.depth + /:$/.test(line.text); // how far the next line may be indented
  const take = (line) => {
    return button(line.text, `${line.text}: put it at the end of your answer`, () => {
      line.depth = inside(mine.at(-1));
      mine.push(line);
      heard.textContent = place(line);
      draw(true);
    });
  };
  const place = (line) => `Line ${mine.indexOf(line) + 1}, indented ${line.depth} times.`;
  const moves = {
    ArrowUp: ["↑", "up", (line, at) => at > 1 && mine.splice(at - 1, 0, ...mine.splice(at, 1))],
    ArrowDown: ["↓", "down", (line, at) => at < mine.length - 1 && mine.splice(at + 1, 0, ...mine.splice(at, 1))],
    ArrowLeft: ["←", "indent less", (line) => line.depth > 1 && line.depth--],
    ArrowRight: ["→", "indent more", (line) => line.depth < 4 && line.depth++],
    Delete: ["×", "take it out", (line, at) => mine.splice(at, 1)],
  };
  function item(line, at) {
    const shown = make("li", {}, code(line.text));
    shown.style.setProperty("--depth", line.depth);
    if (line === first) return shown;
    shown.tabIndex = 0;
    const move = (key) => {
      moves[key][2](line, mine.indexOf(line));
      heard.textContent = key === "Delete" ? "Taken out." : place(line);
      out.replaceChildren();
      draw(key === "Delete" ? true : line);
    };
    const keys = make("span", { className: "tfm-moves" }, ...Object.entries(moves).map(([key, [sign, label]]) => button(sign, `${line.text}: ${label}`, () => move(key))));
    for (const each of keys.children) each.tabIndex = -1; // the keys do the same
    shown.addEventListener("keydown", (event) => {
      const key = event.key === "Backspace" ? "Delete" : event.key;
      if (event.target !== shown || !moves[key]) return;
      event.preventDefault();
      move(key);
    });
    shown.append(keys);
    return shown;
  }

  // What is not right yet, and the line to look at; nothing if all is.
  function fault() {
    const chosen = mine.find((line) => line.said);
    if (chosen) return [chosen.said, chosen];
    const at = (number) => mine.findIndex((line) => line.i === number);
    for (const [place, line] of mine.entries()) {
      const [text, , block, needs] = lines[line.i];
      if (line === first) continue;
      const above = mine.slice(0, place).findLast((other) => other.depth < line.depth);
      if (line.depth > inside(mine[place - 1])) return [`\`${text}\` is indented too far.`, line];
      if (above.i !== block) return [at(block) < 0 ? `\`${text}\` belongs into the block of a line that is missing.` : `\`${text}\` belongs into the block of \`${lines[block][0].replace(/:$/, "")}\`: is it indented as far as it should be, and below that line?`, line];
      const late = needs.find((number) => at(number) > place);
      if (late !== undefined) return [`\`${text}\` stands too high: \`${lines[late][0]}\` has to come before it.`, line];
    }
    const missing = lines.length - mine.length;
    return missing ? [`${missing === 1 ? "One line is" : `${missing} lines are`} still missing.`, null] : null;
  }
  const check = button("Check", "Check the order", () => {
    const found = fault();
    for (const [at, shown] of [...answer.children].entries()) shown.classList.toggle("tfm-fault", found?.[1] === mine[at]);
    const [status, word] = found ? ["refused", "✗ Not yet."] : ["passed", "✓ Right."];
    const said = make("p", {}, ...words(found ? `→ ${found[0]}` : "Every line stands where it should."));
    out.replaceChildren(make("div", { className: `tfm-verdict tfm-${status}` }, make("p", {}, make("strong", { textContent: word })), said));
    if (!found) passed();
  });
  check.className = "tfm-go";
  const again = button("Start again", "Start again: take all lines out", () => { mine.splice(1); out.replaceChildren(); draw(true); });
  const note = make("p", { className: "tfm-note", textContent: "Choose lines, and bring them into order. Two of them are wrong and stay out. Arrow keys move and indent a line, Delete takes it out." });
  bar.replaceWith(note, answer, rest, make("div", { className: "tfm-answer-bar" }, check, again, heard), out);
  draw(true);
};
