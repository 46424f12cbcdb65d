// The search: sections whose words begin with what was typed, the best first. Works from a file: it fetches nothing.
(() => {
  const form = document.querySelector(".tfm-search-page form"), field = form.elements.q;
  const [told, list] = [document.querySelector("#search-told"), document.querySelector("#search-results")];
  const MOST = 40, BEFORE = 60, LONG = 170;
  // One letter stays one letter, so that a place in the plain text is a place in the text.
  const plain = (text) => text.normalize("NFC").toLowerCase().replace(/[\u00c0-\u024f]/g, (letter) => letter.normalize("NFD")[0]);
  const places = [];
  for (const [page, pageTitle, sections] of globalThis.tfmSections ?? []) {
    for (const [id, title, text, kind] of sections) {
      places.push({ href: `${page}.html${id && `#${id}`}`, page: pageTitle, kind, title, text, whole: !id, plainTitle: plain(title), plainText: plain(text), plainPage: plain(pageTitle) });
    }
  }
  const escaped = (word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const root = (word) => (/^[a-z]{4,}s$/.test(word) && !word.endsWith("ss") ? word.slice(0, -1) : word);
  // "warmup" is "warm-up", too.
  const hyphens = (word) => (/^[a-z]{5,}$/.test(word) ? [...word].join("-?") : escaped(word));
  // A word is looked for at the beginning of words; a Korean one anywhere, since particles follow it and others precede.
  const pattern = (word) => new RegExp(/[\u3131-\ud79d]/.test(word) ? escaped(word) : `(?<![\\p{L}\\p{N}])${hyphens(root(word))}`, "gu");
  const count = (text, wanted) => (text.match(wanted) ?? []).length;

  // A word that stands nowhere is taken for the nearest that does: one slip in four letters, two in eight.
  let known;
  function nearest(word) {
    const slips = word.length >= 8 ? 2 : word.length >= 4 ? 1 : 0;
    if (!slips || pattern(word).test(all())) return null;
    known ??= [...all().matchAll(/[\p{L}\p{N}]{3,}/gu)].reduce((seen, [one]) => seen.set(one, (seen.get(one) ?? 0) + 1), new Map());
    let best = null, least = slips + 1;
    for (const [one, often] of known) {
      if (Math.abs(one.length - word.length) > slips) continue;
      const far = distance(word, one);
      if (far < least || (far === least && best && often > known.get(best))) [best, least] = [one, far];
    }
    return best;
  }
  let whole;
  const all = () => (whole ??= places.map(({ plainTitle, plainText }) => `${plainTitle} ${plainText}`).join(" "));
  // How many letters are missing, too many, others, or have changed places with a neighbour.
  function distance(a, b) {
    let [before, last] = [[], [...Array(b.length + 1).keys()]];
    for (let i = 1; i <= a.length; i++) {
      const row = [i];
      for (let j = 1; j <= b.length; j++) {
        row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] !== b[j - 1]));
        if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 0.9); // the likeliest slip
      }
      [before, last] = [last, row];
    }
    return last[b.length];
  }

  function score(place, patterns, phrase, korean) {
    let sum = 0, found = 0;
    for (const wanted of patterns) {
      const here = 12 * count(place.plainTitle, wanted) + 4 * count(place.plainPage, wanted) * (place.whole ? 2 : 1);
      const inside = Math.min(5, count(place.plainText, wanted));
      if (here || inside) found += 1;
      sum += here + inside;
    }
    if (place.plainTitle === phrase) sum += 30;
    else if (place.plainTitle.includes(phrase)) sum += 8;
    if (place.kind === "term" && korean.test(place.plainText)) sum += 20;
    if (patterns.length > 1 && place.plainText.includes(phrase)) sum += 6;
    return { place, sum, found };
  }

  function excerpt({ text, plainText }, patterns) {
    const spots = patterns.flatMap((wanted) => [...plainText.matchAll(wanted)].map((hit) => [hit.index, hit.index + hit[0].length])).sort((a, b) => a[0] - b[0]);
    const telling = [...patterns].sort((a, b) => b.source.length - a.source.length); // the longest word says most, "of" nothing
    const first = telling.map((wanted) => plainText.search(wanted)).find((place) => place >= 0) ?? 0;
    let from = Math.max(0, first - BEFORE);
    if (from) from = text.indexOf(" ", from) + 1;
    const space = text.indexOf(" ", from + LONG);
    const to = space < 0 ? text.length : space;
    const line = document.createElement("p");
    if (from) line.append("… ");
    let at = from;
    for (const [a, b] of spots) {
      if (a < at || b > to) continue;
      const mark = document.createElement("mark");
      mark.textContent = text.slice(a, b);
      line.append(text.slice(at, a), mark);
      at = b;
    }
    line.append(text.slice(at, to), to < text.length ? " …" : "");
    return line;
  }

  function search() {
    const asked = plain(field.value).trim().split(/\s+/).filter(Boolean);
    const words = asked.map((word) => nearest(word) ?? word);
    const phrase = words.join(" ");
    const patterns = words.map(pattern);
    if (!patterns.length) { told.textContent = ""; list.replaceChildren(); return; }
    const korean = new RegExp(`[:(,] ?${escaped(phrase)}(?=[(),]|$)`); // a term's whole Korean name
    const scored = places.map((place) => score(place, patterns, phrase, korean)).filter(({ found }) => found);
    const most = scored.reduce((best, { found }) => Math.max(best, found), 0);
    const hits = scored.filter(({ found }) => found === most).sort((a, b) => b.sum - a.sum || a.place.title.length - b.place.title.length);
    const shown = hits.slice(0, MOST);
    const many = `${hits.length} ${hits.length === 1 ? "place" : "places"}`;
    const instead = phrase === asked.join(" ") ? "" : `Nothing is found for “${field.value.trim()}”. Shown is “${phrase}”: `;
    told.textContent = !hits.length ? `Nothing is found for “${field.value.trim()}”. Try a shorter word.`
      : `${instead}${many}${most < patterns.length ? " with some of these words, none with all" : ""}${hits.length > MOST ? `, the first ${MOST} shown` : ""}.`;
    list.replaceChildren(...shown.map(({ place }) => {
      const item = document.createElement("li");
      const link = Object.assign(document.createElement("a"), { href: place.href, textContent: place.title });
      const where = Object.assign(document.createElement("span"), { className: "tfm-where", textContent: place.whole ? "" : [place.kind, place.page].filter(Boolean).join(" · ") });
      item.append(link, where, excerpt(place, patterns));
      return item;
    }));
  }

  field.value = new URLSearchParams(location.search).get("q") ?? "";
  let waiting;
  field.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(search, 150); });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    try { history.replaceState(null, "", `?q=${encodeURIComponent(field.value)}`); } catch { /* a file's address may not change */ }
    search();
  });
  // Down and Up go from the field through the results and back; Enter on a result follows it, Enter in the field the first.
  form.parentElement.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const stops = [field, ...list.querySelectorAll("a")], at = stops.indexOf(document.activeElement);
    if (!step || at < 0 || !stops[at + step]) return;
    event.preventDefault();
    stops[at + step].focus();
  });
  search();
  if (!field.value) field.focus();
})();
