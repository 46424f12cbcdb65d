// What accompanies a reader: how far one has read, cards for what a link leads to, a citation to take along.
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (tag, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };
  const KEY = "tfm-read";
  const read = () => { try { return JSON.parse(localStorage.getItem(KEY)) ?? {}; } catch { return {}; } };
  const keep = (all) => { try { Object.keys(all).length ? localStorage.setItem(KEY, JSON.stringify(all)) : localStorage.removeItem(KEY); } catch { /* not remembered */ } };
  const nameOf = (address) => new URL(address, location.href).pathname.split("/").pop().replace(/\.html$/, "");

  // ── how far one has read ──
  const here = nameOf(location.href);
  const sections = $$("article section").filter((section) => section.id && $(":scope > h2", section));
  const links = $$(".tfm-chapters a").filter((link) => /\.html$|^#$/.test(link.getAttribute("href")));
  const forget = make("button", { type: "button", className: "tfm-forget tfm-forget-reading", textContent: "Forget what I read" });
  const titleOf = (link) => link.dataset.title ?? (link.dataset.title = link.textContent.trim());

  function tell() {
    const all = read();
    for (const link of links) {
      titleOf(link);
      $(".tfm-read", link)?.remove();
      const known = all[nameOf(link.href)];
      if (!known?.read.length) continue;
      const words = known.read.length >= known.of ? "read" : `${known.read.length} of ${known.of} sections read`;
      const mark = make("span", { className: "tfm-read", title: words }, make("span", { textContent: `, ${words}` }));
      mark.style.setProperty("--read", known.read.length / known.of);
      mark.classList.toggle("tfm-all", known.read.length >= known.of);
      link.append(mark);
    }
    forget.hidden = !Object.keys(all).length;
  }

  function look() {
    const [high, all] = [innerHeight, read()];
    const known = all[here] ?? { read: [] };
    const ended = sections.filter((section) => {
      const { bottom } = section.getBoundingClientRect();
      return bottom > high / 4 && bottom <= high;
    });
    const read_ = [...new Set([...known.read, ...ended.map(({ id }) => id)])].filter((id) => sections.some((section) => section.id === id));
    const at = scrollY < 200 ? null : sections.filter((section) => section.getBoundingClientRect().top < high / 2).pop();
    if (read_.length === known.read.length && (at?.id ?? known.at) === known.at) return;
    const place = at ? { at: at.id, words: $(":scope > h2", at).firstChild.textContent.trim(), when: Date.now() } : {};
    all[here] = { ...known, ...place, read: read_, of: sections.length };
    keep(all);
    tell();
  }

  if (links.length) {
    $(".tfm-chapters").append(forget);
    let waiting = null;
    forget.addEventListener("click", () => {
      clearTimeout(waiting); // what was scrolled past before is forgotten too
      waiting = null;
      keep({});
      tell();
      $(".tfm-go-on")?.remove();
      $(".tfm-chapters a")?.focus({ preventScroll: true });
    });
    tell();
    if (sections.length) {
      addEventListener("scroll", () => {
        waiting ??= setTimeout(() => { waiting = null; look(); }, 500);
      }, { passive: true });
    }
  }

  const [last] = Object.entries(read()).filter(([, known]) => known.at).sort(([, a], [, b]) => b.when - a.when);
  const title = last && links.find((link) => nameOf(link.href) === last[0]);
  if (title && document.documentElement.dataset.first !== undefined && last[0] !== here) {
    const way = make("a", { href: `${title.href}#${last[1].at}` }, "Go on where you were: ", make("strong", { textContent: titleOf(title) }), `, ${last[1].words}`);
    $("article h1").after(make("p", { className: "tfm-go-on" }, way));
  }

  // ── cards for terms, figures, formulas and sources: on hover and on focus; they can be pointed at, stay while they
  // are, and go with Escape ──
  const base = document.documentElement.dataset.content_root ?? "";
  let loading;
  const load = () => (loading ??= new Promise((done) => {
    const script = make("script", { src: `${base}_tfm/terms.js`, onload: () => done(globalThis.tfmTerms), onerror: () => done({}) });
    document.head.append(script);
  }));
  const card = make("div", { id: "tfm-term", className: "tfm-term", hidden: true });
  card.setAttribute("role", "tooltip");
  let owner = null, timer;
  const later = (run, wait) => { clearTimeout(timer); timer = setTimeout(run, wait); };
  const hide = () => {
    clearTimeout(timer);
    owner?.removeAttribute("aria-describedby");
    owner = null;
    card.hidden = true;
  };
  async function ofTerm(link) {
    const found = (await load())[idOf(link)];
    if (!found) return [];
    const [name, words, korean] = found;
    const head = make("p", { className: "tfm-term-name" }, make("strong", { textContent: name }));
    if (korean) head.append(" ", make("span", { lang: "ko", textContent: korean }));
    return [head, make("p", { innerHTML: words })];
  }
  const idOf = (link) => decodeURIComponent(link.hash.slice(1));
  /* A copy of a figure or a formula of this page, unless the reader has it before the eyes. */
  function ofPlace(link) {
    const place = document.getElementById(idOf(link));
    const { top, bottom } = place.getBoundingClientRect();
    if (!bottom || (top > 0 && bottom < innerHeight)) return []; // a closed fold has no height
    const copy = place.cloneNode(true);
    for (const node of [copy, ...$$("[id]", copy)]) node.removeAttribute("id"); // what a drawing refers to stands in the original
    for (const node of $$(".headerlink, .eqno, button", copy)) node.remove();
    return [copy];
  }
  const ofSource = (link) => [make("p", { textContent: link.dataset.source })];
  async function show(link) {
    const made = await contents.get(link)(link);
    if (!made.length || !(link.matches(":hover") || link === document.activeElement)) return;
    hide();
    owner = link;
    card.replaceChildren(...made);
    card.classList.toggle("tfm-shown", made[0].matches("figure, .math"));
    if ($(".katex", card) && !$('link[href*="katex.css"]')) document.head.append(make("link", { rel: "stylesheet", href: `${base}_tfm/katex.css` }));
    card.hidden = false;
    link.setAttribute("aria-describedby", card.id);
    const [at, home] = [link.getClientRects()[0], card.offsetParent.getBoundingClientRect()];
    const left = Math.min(Math.max(8, at.left), document.documentElement.clientWidth - card.offsetWidth - 8);
    const [over, under] = [at.top - 70, innerHeight - at.bottom - 12];
    card.style.maxHeight = "";
    const above = over > card.offsetHeight || (under < card.offsetHeight && over > under);
    if (card.matches(".tfm-shown")) card.style.maxHeight = `${above ? over : Math.max(under, 120)}px`;
    card.style.left = `${left - home.left}px`;
    card.style.top = `${(above ? at.top - card.offsetHeight - 4 : at.bottom + 4) - home.top}px`;
  }
  const contents = new Map();
  for (const link of $$("article a.reference, article a[href*='#term-']")) {
    const address = link.getAttribute("href");
    const place = address.startsWith("#") && document.getElementById(idOf(link));
    if (address.includes("#term-")) contents.set(link, ofTerm);
    else if (place && place.matches("figure, .math")) contents.set(link, ofPlace);
    else if (address.includes("bibliography.html#") && link.title) {
      link.dataset.source = link.title;
      link.removeAttribute("title"); // or the browser would show it a second time
      contents.set(link, ofSource);
    }
  }
  if (contents.size) $("main").append(card);
  for (const link of contents.keys()) {
    link.addEventListener("pointerenter", ({ pointerType }) => pointerType === "mouse" && later(() => show(link), 250));
    link.addEventListener("pointerleave", () => later(hide, 250));
    link.addEventListener("focus", () => link.matches(":focus-visible") && show(link));
    link.addEventListener("blur", hide);
  }
  card.addEventListener("pointerenter", () => clearTimeout(timer));
  card.addEventListener("pointerleave", () => later(hide, 250));
  addEventListener("keydown", (event) => event.key === "Escape" && hide());

  // ── a citation to take along ──
  for (const button of $$("[data-copy-from]")) {
    button.addEventListener("click", async () => {
      const source = $(`#${button.dataset.copyFrom}`), words = button.textContent;
      try {
        await navigator.clipboard.writeText(source.textContent);
        button.textContent = "Copied";
      } catch {
        getSelection().selectAllChildren(source);
        button.textContent = "Selected";
      }
      setTimeout(() => (button.textContent = words), 1500);
    });
  }
})();
