// Questions answered in the page: the answer is compared with the conditions in the fold, whose words become the verdict.
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const store = { // browsers may forbid storage, on file:// above all; then nothing is remembered and nothing breaks
    get(key) { try { return localStorage.getItem(key); } catch { return null; } },
    set(key, value) { try { value === null ? localStorage.removeItem(key) : localStorage.setItem(key, value); } catch { /* not remembered */ } },
  };
  const make = (name, attributes = {}, ...children) => {
    const made = Object.assign(document.createElement(name), attributes);
    made.append(...children);
    return made;
  };

  // What a number can mean that somebody wrote: 1/3, ½, 1 1/2, −2, 1 000, 0,665, 1,024 (a thousand, or a little more than
  // one), 28.6% (of one, or of a hundred), 64 MB where MB are asked for. Nothing where it is no number.
  const readings = (text, unit) => {
    let plain = text.trim().replace(/[½¼¾⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞]/g, " $&").normalize("NFKC").replace(/[−–]/g, "-").replaceAll("⁄", "/");
    const words = plain.match(/(?<=\d\s*|%\s*)[^\W\d_]+(?:\s+[^\W\d_]+)*\.?$/u)?.[0] ?? "";
    if (words && !/^e\d/i.test(words) && unit && !unit.toLowerCase().startsWith(words.toLowerCase().replace(/s?\.?$/, ""))) return [];
    plain = plain.slice(0, plain.length - words.length).trim();
    const percent = /%$/.test(plain);
    plain = plain.replace(/\s*%$/, "");
    const mixed = plain.match(/^(-?)(\d+)\s+(\d+)\/(\d+)$/);
    if (mixed) plain = `${mixed[1]}${Number(mixed[2]) * Number(mixed[4]) + Number(mixed[3])}/${mixed[4]}`;
    plain = plain.replace(/\s/g, "");
    const written = [];
    if (/^-?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/.test(plain)) written.push(plain.replaceAll(",", ""));
    if (/^-?[1-9]\d{0,2}(\.\d{3})+,\d+$/.test(plain)) written.push(plain.replaceAll(".", "").replace(",", "."));
    if (!/,.*[,.]|\..*,/.test(plain)) written.push(plain.replaceAll(",", "."));
    return written.map((each) => {
      const [over, under = "1", ...more] = each.split("/");
      return /^[-+.\de]+$/i.test(over + under) && over && under && !more.length ? Number(over) / Number(under) : NaN;
    }).filter(Number.isFinite).flatMap((number) => (percent ? [number / 100, number] : [number]));
  };
  const unitOf = (form) => $(".tfm-unit", form)?.textContent.trim() ?? "";
  const checked = (form) => $("input:checked", form)?.value ?? null;
  // kind → what the reader answered (as text to be kept, or null), what is asked for where there is nothing, and whether
  // a condition of the fold holds for it
  const KINDS = {
    choose: { read: checked, ask: "Choose one first.", holds: (came, condition) => came === condition },
    line: { read: checked, ask: "Choose a line first.", holds: (came, condition) => came === condition },
    number: {
      read: (form) => (readings($("input", form).value, unitOf(form)).length ? $("input", form).value : null),
      ask: "Write a number, such as 12, 0.5, 1/3 or 25%.",
      holds(came, condition, form) {
        const [low, high] = condition.split(":");
        return readings(came, unitOf(form)).some((number) => (low === "" || number >= Number(low)) && (high === "" || number <= Number(high)));
      },
    },
    shape: {
      read: (form) => (/\d/.test($("input", form).value) ? $("input", form).value : null),
      ask: "Write the sizes as numbers separated by commas, such as 2, 3.",
      holds: (came, condition) => came.replace(/[−–]/g, "-").match(/(?<![\d.])-?\d+(?:\.\d+)?/g).map(Number).join() === condition,
    },
    order: {
      read: (form) => $$("li", form).map((step) => step.dataset.step).join(),
      holds(came, condition) {
        const steps = came.split(",").map(Number), [early, late] = condition.split("<").map(Number);
        return condition === "" ? steps.every((step, i) => step === i + 1) : steps.indexOf(early) < steps.indexOf(late);
      },
    },
  };
  const put = (form, came) => { // as it was kept; null: nothing
    const field = $("input[type=text]", form), list = $("ol", form);
    if (field) field.value = came ?? "";
    $$("input[type=radio]", form).forEach((radio) => (radio.checked = radio.value === came));
    if (list) list.append(...(came ?? list.dataset.given).split(",").map((step) => $(`[data-step="${step}"]`, list)).filter(Boolean));
    if (list) ends(list);
  };

  // the lines of an order move by buttons, and the focus goes along
  const ends = (list) => $$("li", list).forEach((step, i, all) => {
    $$("button", step).forEach((button, up) => button.setAttribute("aria-disabled", String(up ? i === all.length - 1 : i === 0)));
  });
  const movable = (list, said) => {
    list.dataset.given = $$("li", list).map((step) => step.dataset.step).join();
    for (const step of $$("li", list)) {
      const words = step.textContent.trim();
      step.append(make("span", { className: "tfm-moves" }, ...[["↑", "up", -1], ["↓", "down", 1]].map(([arrow, way, by]) => {
        const button = make("button", { type: "button", textContent: arrow });
        button.setAttribute("aria-label", `Move ${way}: ${words}`);
        button.addEventListener("click", () => {
          const all = $$("li", list), to = all.indexOf(step) + by;
          if (!all[to]) return;
          by < 0 ? all[to].before(step) : all[to].after(step);
          ends(list);
          button.focus();
          said.replaceChildren(make("span", { className: "tfm-moved", textContent: `Line ${to + 1} of ${all.length}.` }));
        });
        return button;
      })));
    }
    ends(list);
  };

  const verdict = (right, words) => {
    const box = make("div", { className: `tfm-verdict tfm-${right ? "passed" : "refused"}` });
    box.append(make("p", {}, make("strong", { textContent: right ? "✓ That holds." : "✗ Not yet." })), make("p", {}, ...words));
    return box;
  };
  const copies = (node) => [...node.cloneNode(true).childNodes];

  for (const box of $$(".tfm-ask")) {
    const kind = KINDS[box.dataset.exerciseKind ?? "choose"], form = $("form", box), said = $(".tfm-said", box);
    const forget = $(".tfm-forget", box), fold = $(".tfm-key", box), part = box.dataset.part;
    const key = `tfm-ask:${box.dataset.ask}${part === "again" ? ":again" : ""}`;
    if ($("ol", form)) movable($("ol", form), said);

    const show = (came) => {
      forget.hidden = came === null;
      if (fold) fold.hidden = came === null;
      if (fold && came === null) fold.open = false;
      box.dataset.state = came === null ? "open" : "kept";
      said.replaceChildren();
      if (came === null || !fold) return;
      const answers = $$("[data-if]", fold);
      const found = answers.find((each) => each.dataset.if !== "else" && kind.holds(came, each.dataset.if, form)) ?? answers.find((each) => each.dataset.if === "else");
      const right = found?.classList.contains("tfm-right") ?? false;
      box.dataset.state = right ? "right" : "other";
      said.replaceChildren(verdict(right, found ? copies(found) : []));
    };
    const answer = (came) => { store.set(key, came); show(came); };

    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const came = kind.read(form);
      if (came === null) said.replaceChildren(make("p", { textContent: `${kind.ask}${unitOf(form) ? ` The unit is ${unitOf(form)}.` : ""}` }));
      else answer(came);
    });
    form.addEventListener("change", () => {
      if (part === "first") answer(kind.read(form));
    });
    forget.addEventListener("click", () => {
      put(form, null);
      answer(null);
      $("input, button", form).focus();
    });
    const kept = store.get(key);
    const whole = kept !== null && (box.dataset.exerciseKind !== "order" || kept.split(",").length === $$("li", form).length);
    put(form, whole ? kept : null);
    show(whole && kind.read(form) !== null ? kept : null);
    if (part !== "again") continue;

    // What was said at the chapter's beginning stands beside the second answer.
    const first = $(`.tfm-ask[data-ask="${box.dataset.ask}"][data-part="first"]`);
    const before = make("p", { className: "tfm-before" });
    form.before(before);
    const recall = () => {
      const chosen = first && $("input:checked", first)?.closest("label");
      before.replaceChildren(...(chosen ? ["At the beginning you said: ", ...copies($("span", chosen))] : []));
      before.hidden = !chosen;
    };
    first?.addEventListener("change", recall);
    first && $(".tfm-forget", first).addEventListener("click", recall);
    recall();
    const all = make("button", { type: "button", className: "tfm-forget tfm-forget-all", textContent: "Forget all my answers in this chapter" });
    all.addEventListener("click", () => {
      $$(".tfm-ask .tfm-forget:not(.tfm-forget-all)").forEach((each) => each.click());
      all.focus();
    });
    box.append(all);
  }

  // On paper the answers stand together at the end.
  addEventListener("beforeprint", () => {
    const boxes = $$(".tfm-ask:has(.tfm-key)"), list = make("ol");
    boxes.forEach((box, i) => {
      $("legend", box).dataset.paper = i + 1;
      const key = $(".tfm-key", box), kept = [$(":scope > ol", key), $(":scope > p", key)].filter(Boolean);
      list.append(make("li", {}, ...kept.map((node) => node.cloneNode(true))));
    });
    if (boxes.length) $("article").append(make("section", { className: "tfm-answers" }, make("h2", { textContent: "Answers" }), list));
  });
  addEventListener("afterprint", () => $$(".tfm-answers").forEach((section) => section.remove()));
})();
