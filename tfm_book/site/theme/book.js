// What every page of the book does: colour scheme, drawers, predictions, copying code, where one is on the page.
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  // Browsers may forbid storage, on file:// above all; then nothing is remembered and nothing breaks.
  const store = {
    get(key) { try { return localStorage.getItem(key); } catch { return null; } },
    set(key, value) { try { value === null ? localStorage.removeItem(key) : localStorage.setItem(key, value); } catch { /* not remembered */ } },
  };
  const root = document.documentElement;

  const darkQuery = matchMedia("(prefers-color-scheme: dark)");
  const schemeButton = $("[data-scheme]");
  const paint = (scheme) => {
    root.dataset.theme = scheme;
    schemeButton?.setAttribute("aria-pressed", String(scheme === "dark"));
  };
  paint(root.dataset.theme);
  darkQuery.addEventListener("change", () => store.get("tfm-scheme") || paint(darkQuery.matches ? "dark" : "light"));
  schemeButton?.addEventListener("click", () => {
    const scheme = root.dataset.theme === "dark" ? "light" : "dark";
    store.set("tfm-scheme", scheme === (darkQuery.matches ? "dark" : "light") ? null : scheme);
    paint(scheme);
  });

  // Below a certain width the sidebars live in dialogs, so that focus stays in what is open.
  for (const button of $$("[data-drawer]")) {
    const sidebar = $(`#tfm-${button.dataset.drawer}`);
    const dialog = $(`#tfm-${button.dataset.drawer}-drawer`);
    const wide = matchMedia(button.dataset.drawer === "primary" ? "(min-width: 992px)" : "(min-width: 1220px)");
    const close = () => dialog.open && dialog.close();
    const tell = () => button.setAttribute("aria-expanded", String(wide.matches ? !sidebar.classList.contains("tfm-away") : dialog.open));
    button.addEventListener("click", () => {
      if (wide.matches) sidebar.classList.toggle("tfm-away");
      else {
        dialog.append(...sidebar.childNodes);
        dialog.showModal();
      }
      tell();
    });
    dialog.addEventListener("close", () => { sidebar.append(...dialog.childNodes); tell(); });
    wide.addEventListener("change", tell);
    tell();
    dialog.addEventListener("click", (event) => (event.target === dialog || event.target.closest("a")) && close());
    wide.addEventListener("change", close);
  }

  for (const menu of $$(".tfm-downloads")) {
    document.addEventListener("click", (event) => menu.contains(event.target) || (menu.open = false));
    menu.addEventListener("focusout", ({ relatedTarget: to }) => to && !menu.contains(to) && (menu.open = false));
    menu.addEventListener("keydown", (event) => {
      if (event.key === "Escape") { menu.open = false; $("summary", menu).focus(); }
    });
  }
  // Hints come one at a time; without this script, all at once.
  for (const fold of $$("details.hint")) {
    const [, ...later] = $$(".tfm-hint", fold);
    if (!later.length) continue;
    const button = Object.assign(document.createElement("button"), { type: "button", className: "tfm-forget", textContent: "Next hint" });
    later.forEach((hint) => (hint.hidden = true));
    fold.append(button);
    button.addEventListener("click", () => {
      const hint = later.shift();
      Object.assign(hint, { hidden: false, tabIndex: -1 });
      button.hidden = !later.length;
      hint.focus();
    });
  }
  $("[data-print]")?.addEventListener("click", () => print());
  // On paper a prediction tells its answer, exercises are open, and a widget is drawn as it stands here, only smaller; folds stay.
  const ON_PAPER = 620; // CSS pixels that A4 and Letter have room for, less the frame of a box
  const wide = (card) => Math.max(0, ...[card, ...$$(".tfm-stage *", card)].map((node) => node.scrollWidth - node.clientWidth)
    .filter((over, i, all) => i === 0 || over > 1));
  addEventListener("beforeprint", () => {
    for (const answer of $$("details.tfm-answer, .tfm-exercise")) {
      if (answer.hidden || !answer.open) answer.dataset.printed = `${Number(answer.hidden)}${Number(answer.open)}`;
      answer.hidden = false;
      answer.open = true;
    }
    for (const card of $$(".tfm-card")) {
      const width = Math.ceil(card.getBoundingClientRect().width);
      if (!width) continue;
      card.style.setProperty("--tfm-drawn", `${width}px`);
      card.style.setProperty("--tfm-smaller", Math.min(0.74, ON_PAPER / (width + wide(card))).toFixed(3));
    }
  });
  addEventListener("afterprint", () => {
    for (const answer of $$("details[data-printed]")) {
      [answer.hidden, answer.open] = [...answer.dataset.printed].map((flag) => flag === "1");
      delete answer.dataset.printed;
    }
    $$(".tfm-card").forEach((card) => ["--tfm-drawn", "--tfm-smaller"].forEach((name) => card.style.removeProperty(name)));
  });
  // Keys: / or Ctrl+K to search, ? for the list of keys; letters that are typed into something stay letters.
  const keys = $("#tfm-keys");
  keys?.addEventListener("click", (event) => event.target === keys && keys.close());
  addEventListener("keydown", (event) => {
    const { key, ctrlKey, metaKey, altKey, shiftKey, target } = event;
    const typing = target.closest?.("input, textarea, select, [contenteditable], [role=grid], [role=slider]");
    const alone = !ctrlKey && !metaKey && !altKey && !typing;
    if (alone && key === "?" && keys) { event.preventDefault(); keys.showModal(); return; }
    if (!(alone && key === "/") && !(key.toLowerCase() === "k" && !shiftKey && !altKey && (ctrlKey || metaKey))) return;
    const field = $$("input[type=search]").find((input) => input.offsetParent);
    event.preventDefault();
    if (field) { field.focus(); field.select(); } else $("a.tfm-narrow")?.click();
  });

  for (const box of $$(".tfm-predict")) {
    const key = `tfm-predict:${box.dataset.predict}`;
    const answer = $(".tfm-answer", box), outcome = $(".tfm-outcome", box), forget = $(".tfm-forget", box);
    const inputs = $$("input", box);
    const right = inputs.findIndex((input) => input.closest("[data-right]"));
    const words = [...outcome.childNodes].slice(1); // behind “Answer:”
    // A region that appears with its words is not heard: another, seen by nobody, says them and is empty again.
    const said = document.createElement("p");
    said.className = "tfm-heard-only";
    said.setAttribute("role", "status");
    box.append(said);
    const asked = $(".tfm-choices", box).previousElementSibling;
    asked.id ||= `asked-${key.replace(/\W/g, "-")}`;
    $(".tfm-choices", box).setAttribute("aria-describedby", asked.id);
    const show = (chosen) => {
      box.dataset.state = chosen < 0 ? "open" : chosen === right ? "right" : "other";
      answer.hidden = chosen < 0;
      answer.open = chosen >= 0;
      forget.hidden = chosen < 0;
      inputs.forEach((input, i) => {
        input.checked = i === chosen;
        input.closest("label").classList.toggle("tfm-chosen", i === chosen);
      });
      if (chosen < 0) return;
      if (chosen === right) outcome.replaceChildren("Your guess is right.");
      else outcome.replaceChildren("Another answer is right:", ...words);
    };
    let quiet;
    box.addEventListener("change", (event) => {
      store.set(key, event.target.value);
      show(inputs.indexOf(event.target));
      said.replaceChildren(...outcome.cloneNode(true).childNodes);
      clearTimeout(quiet);
      quiet = setTimeout(() => said.replaceChildren(), 3000);
    });
    forget.addEventListener("click", () => { store.set(key, null); show(-1); inputs[0].focus(); });
    const remembered = store.get(key);
    show(remembered === null || !inputs[remembered] ? -1 : Number(remembered));
  }

  for (const block of $$(".cell_input div.highlight, .tfm-code div.highlight, div[class*=highlight-python] > div.highlight")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "tfm-copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy this code");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText($("pre", block).textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren($("pre", block));
        button.textContent = "Selected";
      }
      setTimeout(() => (button.textContent = "Copy"), 1500);
    });
    block.append(button);
  }

  // The Tab key stops at one of them, the first that is in sight; arrow keys go on from there.
  const copies = $$(".tfm-copy"), near = new Set();
  const stop = (at) => copies.forEach((button) => (button.tabIndex = button === at ? 0 : -1));
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) near[isIntersecting ? "add" : "delete"](target);
    if (!copies.includes(document.activeElement)) stop(copies.find((button) => near.has(button)) ?? copies[0]);
  });
  copies.forEach((button, i) => {
    seen.observe(button);
    button.addEventListener("keydown", (event) => {
      const ways = { ArrowDown: copies.slice(i + 1), ArrowUp: copies.slice(0, i).reverse() };
      const to = ways[event.key]?.find((other) => other.checkVisibility()); // not one in a closed fold
      if (!to) return;
      event.preventDefault();
      stop(to);
      to.focus();
    });
  });
  stop(copies[0]);

  // A sign is no name: each link to a heading, a figure or an equation says where it leads, and is not heard in the heading.
  for (const link of $$(".headerlink")) {
    const head = link.closest("h1, h2, h3, h4, h5");
    const words = (head?.textContent ?? link.closest(".eqno")?.textContent ?? $(".caption-number", link.parentElement)?.textContent ?? link.title).replace("#", "").trim();
    link.setAttribute("aria-label", `Link to ${words}`);
    if (head?.childElementCount === 1) head.setAttribute("aria-label", words);
  }
  for (const link of $$("a[href*='#equation-']:not(.headerlink)")) {
    if (/^\(\d+\)$/.test(link.textContent)) link.setAttribute("aria-label", `Equation ${link.textContent}`);
  }

  // What scrolls sideways must be reachable by keyboard.
  const scrollers = $$("pre, .tfm-formula, .cell_output > .output, .tfm-scroll, .tfm-big-picture");
  const reach = () => scrollers.forEach((box) => {
    if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  });
  reach();
  addEventListener("resize", reach);
  addEventListener("toggle", reach, true);
  document.fonts?.ready.then(reach);

  // A report names the section in which the reader clicked last, and the widget there as it stands.
  const report = $(".tfm-report a");
  let touched;
  const touch = ({ target }) => (touched = target.closest?.("article") ? target : touched);
  for (const event of ["pointerdown", "focusin"]) report && addEventListener(event, touch);
  report?.addEventListener("click", () => {
    const url = new URL(report.href);
    const field = ["body", "issue[description]"].find((name) => url.searchParams.has(name));
    const [here, card] = [touched?.closest("section section[id]"), touched?.closest(".tfm-card")];
    const page = $("link[rel=canonical]")?.href ?? location.href.split("#")[0];
    report.said ??= url.searchParams.get(field);
    url.searchParams.set(field, [report.said.trim(),
      here && `In the section “${$("h2, h3", here).firstChild.textContent}”: ${page}#${here.id}`,
      card?.tfmLink && `The widget “${$("header b", card).textContent}” as it stood: ${page}${card.tfmLink()}`,
      "",
    ].filter((line) => line !== undefined && line !== null).join("\n"));
    report.href = url;
  });

  // A page that a browser kept, or that stayed open for weeks, says so when its site has a newer version by now.
  const [own, older] = [$("[data-version]")?.dataset.version, $(".tfm-older")];
  const parts = (version) => version.split(/[.a-z]+/).map(Number);
  const newer = (a, b) => [0, 1, 2].map((i) => (parts(a)[i] || 0) - (parts(b)[i] || 0)).find((gap) => gap) > 0;
  const ask = async () => {
    try {
      const { version } = await (await fetch(`${root.dataset.content_root}version.json`, { cache: "no-store" })).json();
      if (!newer(version, own)) return;
      older.textContent = `You are reading version ${own}. The newest is ${version}; load the page again to read it.`;
      older.hidden = false;
    } catch { /* no site, no network: then nothing is known of a newer one */ }
  };
  if (own && location.protocol.startsWith("http")) {
    addEventListener("load", ask);
    document.addEventListener("visibilitychange", () => document.hidden || ask());
  }

  // What an address names stays where it is while things above it come to life, until the reader moves or all is calm.
  let held = null;
  const keep = () => held?.scrollIntoView({ block: "start", behavior: "instant" });
  const release = () => (held = null);
  const calm = () => {
    const waiting = document.readyState !== "complete" || $(".tfm-widget:not([data-state])");
    if (held) setTimeout(waiting ? calm : () => { keep(); release(); }, 1000);
  };
  const hold = () => {
    try { held = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { held = null; }
    held?.closest(".tfm-exercise")?.setAttribute("open", ""); // as most browsers do
    keep();
    calm();
  };
  for (const move of ["wheel", "touchstart", "pointerdown", "keydown"]) addEventListener(move, release, { passive: true, capture: true });
  addEventListener("hashchange", (event) => event.isTrusted && hold()); // the host lets a widget hear where it was left
  if (location.hash.length > 1 && performance.getEntriesByType("navigation")[0]?.type === "navigate") hold();
  new ResizeObserver(keep).observe(document.body);

  const scrolled = () => root.classList.toggle("tfm-scrolled", scrollY > 120);
  addEventListener("scroll", scrolled, { passive: true });
  scrolled();

  const links = new Map($$(".tfm-toc a[href^='#']").map((link) => [decodeURIComponent(link.hash.slice(1)), link]));
  if (links.size) {
    const headings = [...links.keys()].map((id) => document.getElementById(id)).filter(Boolean);
    const mark = () => {
      const here = headings.filter((heading) => heading.getBoundingClientRect().top < 120).pop();
      for (const [id, link] of links) {
        if (id === here?.id) link.setAttribute("aria-current", "true");
        else link.removeAttribute("aria-current");
      }
    };
    let waiting = false;
    addEventListener("scroll", () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; mark(); });
    }, { passive: true });
    mark();
  }
})();
