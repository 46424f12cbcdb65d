/* Navigation of a deck: one slide at a time, its content as large as the screen allows. A question shows its answer at
   the second step. A widget starts when its slide comes up next: then the page's own host runs, for this widget. */

const root = document.documentElement;
const WIDTHS = [47.5, 58, 70]; // of widgets, in rem: that of the book's page first

start(document.currentScript.dataset.host);

function start(host) {
  const slides = [...document.querySelectorAll(".deck-slide")];
  const [place, progress, live, keys] = ["place", "progress", "live", "keys"].map((name) => document.querySelector(`.deck-${name}`));
  const overview = () => root.classList.contains("deck-overview");
  let [at, chain] = [0, Promise.resolve()];

  function show(index, address = true) {
    at = Math.max(0, Math.min(slides.length - 1, index));
    slides.forEach((slide, i) => slide.classList.toggle("deck-shown", i === at));
    slides.forEach((slide, i) => slide.classList.toggle("deck-near", i === at + 1)); // laid out beside the screen
    place.value = `${at + 1} of ${slides.length}`;
    progress.value = at + 1;
    live.textContent = `slide ${place.value}`;
    if (address) history.replaceState(null, "", `#${at + 1}`);
    if (overview()) return slides[at].scrollIntoView({ block: "nearest" });
    slides[at].scrollTop = 0;
    fit(slides[at]);
    for (const slide of slides.slice(at, at + 2)) mount(slide);
  }

  /* Go on by a step: the answer of a question first, then the next slide. */
  function next() {
    const waits = slides[at].querySelector(".deck-answer") && !slides[at].classList.contains("deck-revealed");
    if (!waits || overview()) return show(at + 1);
    slides[at].classList.add("deck-revealed");
    live.textContent = slides[at].querySelector(".deck-answer").textContent;
  }

  /* The zoom at which a slide's content fills the slide without overflowing; a narrow screen scrolls instead. */
  function fit(slide) {
    const body = slide.querySelector(".deck-fit");
    const overflows = (zoom) => {
      body.style.zoom = zoom;
      const stage = body.parentElement;
      return stage.scrollHeight > stage.clientHeight + 1 || stage.scrollWidth > stage.clientWidth + 1;
    };
    body.style.zoom = "";
    for (const formula of body.querySelectorAll(".deck-formula .tfm-formula")) {
      formula.style.zoom = "";
      if (innerWidth < 700) formula.style.zoom = Math.max(0.6, Math.min(1, formula.clientWidth / formula.scrollWidth));
    }
    if (innerWidth < 700 || overview()) return;
    let [low, high] = [0.4, 2.6];
    while (high - low > 0.01) {
      const middle = (low + high) / 2;
      if (overflows(middle)) high = middle;
      else low = middle;
    }
    overflows(low);
  }

  /* A widget lays itself out by its width; take the width at which its letters become largest. */
  async function settle(slide) {
    const body = slide.querySelector(".deck-fit");
    const [drawn, zooms] = [() => new Promise((go) => requestAnimationFrame(() => setTimeout(go, 80))), []];
    const widths = innerWidth < 700 || overview() || !slide.matches(".deck-shown, .deck-near") ? [] : WIDTHS;
    body.style.visibility = "hidden";
    for (const width of widths) {
      body.style.setProperty("--deck-wide", `${width}rem`);
      await drawn();
      fit(slide);
      zooms.push(Number(body.style.zoom));
    }
    if (zooms.length) body.style.setProperty("--deck-wide", `${widths[zooms.indexOf(Math.max(...zooms))]}rem`);
    await drawn();
    fit(slide);
    body.style.visibility = "";
  }

  /* The host shows each widget of the page that has a model: here those of one slide at a time. */
  function mount(slide) {
    const boxes = [...slide.querySelectorAll("[data-waiting]")];
    for (const box of boxes) {
      const model = box.dataset.waiting;
      delete box.dataset.waiting;
      chain = chain.then(() => shown(box, model)).then(() => settle(slide));
    }
  }

  function shown(box, model) {
    return new Promise((done) => {
      try {
        sessionStorage.removeItem(`tfm-left ${location.pathname}`); // the host numbers the widgets of a whole page
      } catch {
        // storage is not allowed here
      }
      const finish = () => {
        delete box.dataset.model;
        new ResizeObserver(() => requestAnimationFrame(refit)).observe(box);
        done();
      };
      new MutationObserver((_, observer) => box.dataset.state && (observer.disconnect(), finish())).observe(box, { attributes: true });
      box.dataset.model = model;
      const script = Object.assign(document.createElement("script"), { src: host });
      script.onload = () => script.remove();
      document.head.append(script);
    });
  }

  function refit() {
    const stage = slides[at].querySelector(".deck-stage");
    if (stage.scrollHeight > stage.clientHeight + 1) fit(slides[at]);
  }

  function toggleOverview() {
    root.classList.toggle("deck-overview");
    show(at);
  }

  const full = () => (document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen?.());
  const notes = () => (root.classList.toggle("deck-with-notes"), fit(slides[at]));
  const list = () => (keys.open ? keys.close() : keys.showModal());
  const back = () => show(at - 1);
  const does = {
    ArrowRight: next, ArrowDown: next, PageDown: next, " ": next,
    ArrowLeft: back, ArrowUp: back, PageUp: back,
    Home: () => show(0), End: () => show(slides.length - 1),
    o: toggleOverview, s: notes, f: full, "?": list,
  };

  addEventListener("keydown", (event) => {
    const { key, target } = event;
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (key === "Escape") {
      if (overview()) toggleOverview();
      else document.activeElement?.blur();
      return;
    }
    if (target.closest?.(".tfm-widget, input, select, textarea, [contenteditable]")) return;
    if (keys.open && key !== "?") return;
    if (target.closest?.("a, button") && (key === " " || key === "Enter")) return;
    if (key === "Enter" && overview()) return toggleOverview();
    const action = does[key.length === 1 ? key.toLowerCase() : key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  addEventListener("click", ({ target }) => {
    const [button, slide] = [target.closest("[data-do]"), target.closest(".deck-slide")];
    if (button) ({ back, next, keys: list })[button.dataset.do]();
    else if (target === keys) keys.close();
    else if (slide && overview()) {
      at = slides.indexOf(slide);
      toggleOverview();
    } else if (slide?.querySelector(".deck-answer") && !slide.classList.contains("deck-revealed")) next();
  });
  let touch;
  const scrolls = (node) => node && node.scrollWidth > node.clientWidth + 1;
  addEventListener("touchstart", ({ touches, target }) => {
    const free = touches.length === 1 && !target.closest(".tfm-widget, dialog") && !scrolls(target.closest(".tfm-formula, .tfm-figure"));
    touch = free ? touches[0] : null;
  }, { passive: true });
  addEventListener("touchend", ({ changedTouches: [end] }) => {
    if (!touch || overview()) return;
    const [x, y] = [end.clientX - touch.clientX, end.clientY - touch.clientY];
    if (Math.abs(x) > 50 && Math.abs(x) > 2 * Math.abs(y)) (x < 0 ? next : back)();
  });
  addEventListener("resize", () => fit(slides[at]));
  addEventListener("hashchange", () => /^#\d+$/.test(location.hash) && show(location.hash.slice(1) - 1));
  document.fonts.addEventListener("loadingdone", () => fit(slides[at])); // a formula may be the first to need a font

  const link = location.hash.match(/^#tfm=[^=&]+\.(\d+)/); // to a widget in some state: it reads the address itself
  const linked = link && document.querySelectorAll(".tfm-widget")[link[1]]?.closest(".deck-slide");
  if (linked) show(slides.indexOf(linked), false);
  else show((Number(location.hash.slice(1)) || 1) - 1);
}
