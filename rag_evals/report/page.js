"use strict";
// Reads the embedded rows and shows them. Data only ever becomes text, never markup.
(() => {
const ROW = 36, MARGIN = 12;
const $ = (id) => document.getElementById(id);
const make = (name, className, text) => {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text !== undefined && text !== null) element.textContent = text;
  return element;
};
const state = {data: null, view: [], at: -1, open: null, shown: null, item: -1, sort: "worst", down: false, labels: {}, chunks: new Map()};

async function unpack(element) {
  const coded = element.textContent;
  let bytes;
  if (Uint8Array.fromBase64) bytes = Uint8Array.fromBase64(coded);
  else {
    const raw = atob(coded);
    bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  }
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// What people read comes from the table of the reader's language; `count` also chooses the plural.
function say(name, values = {}) {
  const phrase = state.data.phrases[name];
  const form = new Intl.PluralRules(state.data.language).select(values.count ?? 0);
  const text = typeof phrase === "string" ? phrase : phrase[form] ?? phrase.many;
  return text.replace(/\{(\w+)\}/g, (_, key) => values[key]);
}
const number = (value) => value.toFixed(2).replace(".", state.data.language === "ru" ? "," : ".");
const percent = (value) => { const hundredths = Math.round(value * 1000) / 10; return number(hundredths).replace(/[.,]?0+$/, "") + " %"; };
const titleOf = (grader) => state.data.titles[grader] ?? grader;
const reasonOf = (why) => state.data.reasons[why] ?? why;

// A row: its grader, and for each side what the run says of it.
const first = (row) => row.sides.find((side) => side);
const score = (row) => { const side = first(row); return side ? side.score : null; };
const change = (row) => row.sides.length < 2 || row.sides.some((s) => !s || s.score === null) ? null : row.sides[1].score - row.sides[0].score;
const count = (row, verdict) => first(row).items.filter((item) => item.verdict === verdict).length;
const bandOf = (value) => state.data.bands.findIndex(([, lower]) => value >= lower - 1e-9);
// Findings with a yes or no can be counted and labelled; ratings have none.
const decided = (item) => item.verdict !== "o";
const isLabelled = (row, i) => { const known = state.labels[labelKey(row, i)]; return !!known && known.agrees !== null; };
const labelKey = (row, i) => row.id + "\n" + row.grader + "\n" + i;

function read(data) {
  const samples = data.samples.map(([id, question, answer, reference, chunks, spans], place) => ({id, question, answer, reference, chunks, spans, place}));
  data.list = data.rows.map(([grader, sides], number) => {
    const row = {number, grader: data.graders[grader], sides: sides.map((side) => side && {
      sample: samples[side[0]], status: side[1], score: side[2], why: side[3], error: side[4],
      items: side[5].map(([text, verdict, label, reasoning, ids, quotes, sentences, origin, ofAnswer, shown, differs]) => ({text, verdict, label, reasoning, ids, quotes, sentences, origin, ofAnswer, shown, differs})),
      warnings: side[6], seconds: side[7], repeats: side[8]})};
    row.id = first(row).sample.id;
    return row;
  });
  delete data.rows;
  return data;
}

function text(row) {
  if (row.text === undefined) {
    const parts = [row.id];
    for (const side of row.sides) if (side) {
      parts.push(side.sample.question, side.sample.answer, side.error, side.why);
      for (const item of side.items) parts.push(item.shown, item.label, item.reasoning);
    }
    row.text = parts.filter(Boolean).join("\n").toLowerCase();
  }
  return row.text;
}

const order = {
  number: (row) => row.number,
  id: (row) => row.id,
  score: (row) => score(row) ?? 2,
  after: (row) => row.sides[1] ? row.sides[1].score ?? 2 : 3,
  change: (row) => change(row) ?? 9,
  faults: (row) => -(count(row, "n") + count(row, "c")),
  text: (row) => first(row).sample.question || first(row).sample.answer || "",
  // Failed first, then the lowest scores, then what cannot be scored; two runs: what changed most.
  worst: (row) => row.sides.length > 1 ? -Math.abs(change(row) ?? 9) : first(row).status === "failed" ? -1 : score(row) ?? 2,
};

function passes(row, wanted) {
  if (wanted.grader && row.grader !== wanted.grader) return false;
  const sides = row.sides.filter(Boolean);
  if (wanted.outcome && !sides.some((side) => side.status === wanted.outcome)) return false;
  if (wanted.band !== "" && !sides.some((side) => side.score !== null && bandOf(side.score) === +wanted.band)) return false;
  const v = wanted.verdict;
  if (v === "l" || v === "u") {
    if (!sides[0].items.some((item, i) => decided(item) && isLabelled(row, i) === (v === "l"))) return false;
  } else if (v === "w") { if (!sides.some((side) => side.warnings.length)) return false;
  } else if (v === "s") { if (!sides.some((side) => side.items.some(decided) && side.items.every((item) => item.verdict === "s" || !decided(item)))) return false;
  } else if (v && !sides.some((side) => side.items.some((item) => item.verdict === v || (v === "n" && item.verdict === "c")))) return false;
  return wanted.words.every((word) => text(row).includes(word));
}

function filter() {
  const wanted = {grader: $("grader").value, band: $("band").value, outcome: $("outcome").value, verdict: $("verdict").value,
    words: $("search").value.toLowerCase().split(/\s+/).filter(Boolean)};
  const open = state.view[state.at];
  state.view = state.sorted.filter((row) => passes(row, wanted));
  state.at = Math.max(state.view.indexOf(open), state.view.length ? 0 : -1);
  $("count").textContent = state.view.length === state.data.list.length ? say("rows", {count: state.view.length}) : say("of_rows", {shown: state.view.length, count: state.data.list.length});
  $("space").style.height = state.view.length * ROW + "px";
  $("scroll").setAttribute("aria-rowcount", state.view.length);
  $("scroll").scrollTop = 0;
  draw();
}

function sort(name) {
  if (name) { state.down = state.sort === name && !state.down; state.sort = name; }
  const by = order[state.sort], sign = state.down ? -1 : 1;
  const keyed = state.data.list.map((row) => [by(row), row]);
  keyed.sort(([a, x], [b, y]) => (a < b ? -sign : a > b ? sign : x.number - y.number));
  state.sorted = keyed.map(([, row]) => row);
  for (const button of $("head").querySelectorAll("button")) button.parentElement.setAttribute("aria-sort", button.dataset.sort !== state.sort ? "none" : state.down ? "descending" : "ascending");
  filter();
}

const COLUMNS = [["#", "number", "wide"], ["row", "id", "wide"], ["score", "score", ""], ["faults", "faults", ""], ["question", "text", ""]];
const PAIRED = [["#", "number", "wide"], ["row", "id", "wide"], ["before", "score", ""], ["after", "after", ""], ["change", "change", ""], ["question", "text", ""]];

function scoreCell(side, grader) {
  if (!side) return make("span", "why", "–");
  if (side.score === null) { const cell = make("span", "why", say(side.status)); cell.title = reasonOf(side.why) || ""; return cell; }
  const [label, , means, about, plain] = state.data.bands[bandOf(side.score)];
  const [name, meaning] = grader.startsWith(about) ? [label, means] : [plain, null];
  const cell = make("span", "t" + Math.min(bandOf(side.score), 3), say("row_score", {score: number(side.score), percent: percent(side.score)}));
  cell.title = [percent(side.score), name, meaning].filter(Boolean).join(" · ");
  return cell;
}

function line(row, place) {
  const element = make("div", "row");
  const sample = first(row).sample;
  element.setAttribute("role", "row");
  element.setAttribute("aria-rowindex", place + 1);
  element.setAttribute("aria-selected", place === state.at);
  const cells = [make("span", "wide", row.number), make("span", "wide", state.data.graders.length > 1 ? `${row.id} · ${titleOf(row.grader)}` : row.id), scoreCell(row.sides[0], row.grader)];
  if (row.sides.length > 1) {
    const moved = change(row);
    cells.push(scoreCell(row.sides[1], row.grader), make("span", moved < 0 ? "t3" : moved > 0 ? "t0" : "", moved === null ? "" : (moved > 0 ? "+" : "") + number(moved)));
  } else {
    const faults = count(row, "n") + count(row, "c");
    const of = row.sides[0].items.filter(decided).length;
    const cell = make("span", "", of ? `${faults}/${of}` : "");
    cells.push(cell);
  }
  cells.push(make("span", "", sample.question || sample.answer || first(row).error || row.id));
  for (const cell of cells) { cell.setAttribute("role", "gridcell"); cell.title = cell.title || cell.textContent; element.append(cell); }
  element.addEventListener("click", () => { state.at = place; show(row); });
  return element;
}

function draw() {
  const scroll = $("scroll");
  const from = Math.max(0, Math.floor(scroll.scrollTop / ROW) - MARGIN);
  const to = Math.min(state.view.length, Math.ceil((scroll.scrollTop + scroll.clientHeight) / ROW) + MARGIN);
  $("rows").style.transform = `translateY(${from * ROW}px)`;
  $("rows").replaceChildren(...state.view.slice(from, to).map((row, i) => line(row, from + i)));
}

function move(step) {
  if (!state.view.length) return;
  state.at = Math.min(state.view.length - 1, Math.max(0, state.at + step));
  const scroll = $("scroll"), top = state.at * ROW;
  if (top < scroll.scrollTop) scroll.scrollTop = top;
  if (top + ROW > scroll.scrollTop + scroll.clientHeight) scroll.scrollTop = top + ROW - scroll.clientHeight;
  draw();
  if (state.open) show(state.view[state.at]);
}

function chunksOf(sample) {
  const block = Math.floor(sample.place / state.data.inBlock);
  if (!state.chunks.has(block)) state.chunks.set(block, unpack(document.querySelectorAll("script.chunks")[block]));
  return state.chunks.get(block).then((samples) => samples[sample.place % state.data.inBlock]);
}

// Offsets count code points; JavaScript counts UTF-16 units.
function unit(source, offset) {
  if (!/[\ud800-\udbff]/.test(source)) return offset;
  let units = 0;
  for (const sign of source) { if (offset-- <= 0) break; units += sign.length; }
  return units;
}

function sentences(sample) {
  const answer = sample.answer || "";
  if (sample.spans) return sample.spans.map(([start, end]) => [unit(answer, start), unit(answer, end)]);
  if (!Intl.Segmenter) return [[0, answer.length]];
  return [...new Intl.Segmenter(undefined, {granularity: "sentence"}).segment(answer)].map((part) => [part.index, part.index + part.segment.length]);
}

const words = (source) => source.toLowerCase().match(/[\p{L}\p{N}]+/gu) || [];

// Which statements belong to which sentence: by number, by their exact text, else by common words.
function assign(side, spans) {
  const answer = side.sample.answer || "";
  const bags = spans.map(([start, end]) => new Set(words(answer.slice(start, end))));
  const found = spans.map(() => []);
  side.items.forEach((item, i) => {
    if (!decided(item) || !item.text) return;
    if (item.sentences.length) { for (const n of item.sentences) if (found[n]) found[n].push(i); return; }
    if (!item.ofAnswer) return;
    const at = answer.indexOf(item.text);
    if (at >= 0) { spans.forEach(([start, end], n) => { if (start < at + item.text.length && end > at) found[n].push(i); }); return; }
    const own = new Set(words(item.text));
    let best = -1, most = 0.34;
    bags.forEach((bag, n) => { let common = 0; for (const word of own) common += bag.has(word); const share = common / (Math.min(own.size, bag.size) || 1); if (share > most) { most = share; best = n; } });
    if (best >= 0) found[best].push(i);
  });
  return found;
}

const worst = (items) => items.some((i) => i.verdict === "c") ? "c" : items.some((i) => i.verdict === "n") ? "n" : "s";
const tie = (element, side, numbers) => { if (numbers.length) { element.dataset.side = side; element.dataset.items = numbers.join(" "); } return element; };

function answerOf(side, n) {
  const box = make("div", "pre answer"), answer = side.sample.answer || "", spans = sentences(side.sample), found = assign(side, spans);
  let at = 0;
  spans.forEach(([start, end], i) => {
    box.append(answer.slice(at, start));
    box.append(tie(make("span", found[i].length ? "sent v-" + worst(found[i].map((k) => side.items[k])) : "sent", answer.slice(start, end)), n, found[i]));
    at = end;
  });
  box.append(answer.slice(at));
  return box;
}

function itemOf(row, side, n, item, i) {
  const element = tie(make("li", "item v-" + item.verdict), n, [i]);
  element.tabIndex = 0;
  element.append(make("p", "pre", item.shown));
  const cited = item.ids.length ? ` · ${say("chunk")} ${item.ids.join(", ")}` : "";
  element.append(make("p", "tag", item.label + cited + (item.origin ? " · " + item.origin : "")));
  if (item.reasoning) element.append(make("p", "why-text pre", item.reasoning));
  if (item.differs) element.append(make("p", "why-text pre", say("differs", {words: item.differs})));
  element.addEventListener("focus", () => { state.item = i; light(n, [String(i)]); });
  if (decided(item) && row.sides.length < 2) element.append(askOf(row, item, i));
  return element;
}

function askOf(row, item, i) {
  const box = make("div", "ask"), note = make("input");
  const buttons = [[say("agree"), true, "agree"], [say("disagree"), false, "disagree"], [say("clear"), null, "clear"]].map(([words, agrees, name]) => {
    const button = make("button", name, words);
    button.type = "button";
    button.addEventListener("click", (event) => { event.stopPropagation(); label(row, i, agrees); });
    return button;
  });
  note.placeholder = say("note");
  note.setAttribute("aria-label", say("note_label"));
  note.className = "note-text";
  note.addEventListener("change", () => annotate(row, i, note.value));
  box.append(...buttons, note);
  const shown = () => {
    const known = state.labels[labelKey(row, i)];
    buttons[0].setAttribute("aria-pressed", !!known && known.agrees === true);
    buttons[1].setAttribute("aria-pressed", !!known && known.agrees === false);
    buttons[2].hidden = !known || known.agrees === null;
    note.value = known ? known.note : "";
  };
  box.refresh = shown;
  shown();
  return box;
}

// A label is set, never toggled: the same key twice leaves it as it is.
function label(row, i, agrees) {
  const key = labelKey(row, i), old = state.labels[key] || unlabelled(row, i);
  if (old.agrees === agrees) return;
  const verdict = row.sides[0].items[i].verdict === "s";
  store(key, {...old, verdict, agrees, label: agrees === null ? null : agrees ? verdict : !verdict, at: new Date().toISOString()});
}

function annotate(row, i, note) {
  const key = labelKey(row, i);
  store(key, {...(state.labels[key] || unlabelled(row, i)), note});
}

// What is kept of a finding before anybody agrees or disagrees: a note alone is no verdict.
function unlabelled(row, i) {
  const item = row.sides[0].items[i];
  return {sample_id: row.id, grader: row.grader, statement: i, text: item.text, verdict: item.verdict === "s", agrees: null, label: null, note: ""};
}

function store(key, entry) {
  if (entry.agrees === null && !entry.note) delete state.labels[key];
  else state.labels[key] = entry;
  keep();
}

function keep() {
  for (const box of $("detail").querySelectorAll(".ask")) box.refresh();
  const labelled = Object.values(state.labels).filter((entry) => entry.agrees !== null).length;
  $("labels").textContent = labelled ? say("labels", {count: labelled}) : "";
  // A browser may refuse to store; then the labels live as long as the page.
  try { localStorage.setItem("rag-evals:" + state.data.key, JSON.stringify(state.labels)); } catch {}
}

function remembered() {
  try { return JSON.parse(localStorage.getItem("rag-evals:" + state.data.key)) || {}; } catch { return {}; }
}

function save() {
  const annotator = $("annotator").value.trim();
  const lines = Object.values(state.labels).map((entry) => JSON.stringify(annotator ? {...entry, annotator} : entry) + "\n");
  const link = make("a");
  link.href = URL.createObjectURL(new Blob(lines, {type: "application/jsonl"}));
  link.download = "labels.jsonl";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function chunkOf(side, n, id, [source, about]) {
  const citing = side.items.map((item, i) => (item.ids.includes(id) ? i : -1)).filter((i) => i >= 0);
  const element = tie(make("div", citing.length ? "chunk cited" : "chunk"), n, citing);
  element.append(make("p", "tag", `${say("chunk")} ${id}` + (about ? " · " + about : "") + (citing.length ? " · " + say("cited") : "")));
  const marks = [];
  side.items.forEach((item, i) => { for (const [chunk, start, end, nearest] of item.quotes) if (chunk === id) {
    const [at, stop] = [unit(source, start), unit(source, end)];
    if (at >= 0 && stop > at && stop <= source.length) marks.push([at, stop, i, nearest]);
  } });
  const box = make("div", "pre");
  const cuts = [...new Set([0, source.length, ...marks.flatMap(([at, stop]) => [at, stop])])].sort((a, b) => a - b);
  for (let k = 0; k + 1 < cuts.length; k++) {
    const here = marks.filter(([at, stop]) => at <= cuts[k] && stop >= cuts[k + 1]), inside = [...new Set(here.map(([, , i]) => i))];
    const piece = source.slice(cuts[k], cuts[k + 1]), nearest = here.every(([, , , near]) => near);
    const mark = inside.length ? tie(make("mark", nearest ? "near" : "", piece), n, inside) : piece;
    if (nearest && inside.length) mark.title = say("nearest");
    box.append(mark);
  }
  element.append(box);
  return element;
}

function light(side, numbers) {
  for (const element of $("detail").querySelectorAll("[data-items]")) {
    element.classList.toggle("lit", element.dataset.side === String(side) && element.dataset.items.split(" ").some((n) => numbers.includes(n)));
  }
}

function titled(name, ...content) { return [make("h3", "", name), ...content]; }

async function sideOf(row, side, n) {
  const box = make("div", "side");
  if (row.sides.length > 1) box.append(make("h2", "", state.data.sides[n]));
  if (!side) { box.append(make("p", "why", say("absent"))); return box; }
  const head = make("p");
  const score = scoreCell(side, row.grader);
  head.append(score, " ", make("span", "tag", side.score === null ? reasonOf(side.why) || "" : score.title));
  box.append(head);
  if (side.repeats.length) box.append(make("p", "tag", say("repeats", {count: side.repeats.length, scores: side.repeats.map((value) => value === null ? "–" : number(value)).join("  ")})));
  if (side.error) box.append(make("p", "why pre", side.error));
  for (const warning of side.warnings) box.append(make("p", "tag", say("warning", {text: warning})));
  if (side.sample.answer !== null) box.append(...titled(say("answer"), answerOf(side, n)));
  if (side.sample.reference) box.append(...titled(say("reference"), make("div", "pre", side.sample.reference)));
  if (side.items.length) {
    const list = make("ol", "items");
    list.append(...side.items.map((item, i) => itemOf(row, side, n, item, i)));
    box.append(...titled(say("findings"), list));
  }
  if (side.sample.chunks) {
    const chunks = await chunksOf(side.sample);
    box.append(...titled(say("chunks", {count: chunks.length}), ...chunks.map((chunk, id) => chunkOf(side, n, id, chunk))));
  }
  return box;
}

async function show(row) {
  const wanted = (state.open = row);
  state.item = -1;
  draw();
  const sides = make("div", "sides");
  sides.append(...(await Promise.all(row.sides.map((side, n) => sideOf(row, side, n)))));
  if (state.open !== wanted) return;
  const close = make("button", "", say("close"));
  close.type = "button";
  close.addEventListener("click", shut);
  const bar = make("div", "bar");
  bar.append(make("h2", "", `${row.id} · ${titleOf(row.grader)}`), make("span", "push"), close);
  const detail = $("detail"), question = first(row).sample.question;
  detail.replaceChildren(bar, ...(question ? titled(say("question"), make("div", "pre", question)) : []), sides);
  detail.hidden = false;
  detail.scrollTop = 0;
  state.shown = row;
}

function shut() { state.open = state.shown = null; state.item = -1; $("detail").hidden = true; $("scroll").focus(); }

function step(by) {
  const items = [...$("detail").querySelectorAll(".item")];
  if (!items.length) return;
  state.item = Math.min(items.length - 1, Math.max(0, state.item + by));
  items[state.item].focus();
}

// The finding to label: the chosen one, else the first that has a yes or no.
const asked = (row, from) => row.sides[0].items.findIndex((item, i) => i >= from && decided(item));

function judge(agrees) {
  const row = state.shown;
  // Until the next row is in sight, a key that comes too early labels nothing.
  if (!row || row !== state.open || row.sides.length > 1) return;
  const i = asked(row, Math.max(state.item, 0));
  if (i < 0) return;
  label(row, i, agrees);
  if (agrees === null) return;
  const next = asked(row, i + 1);
  if (next >= 0) { state.item = next - 1; step(1); } else if (state.at + 1 < state.view.length) move(1);
}

function theme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
}

const KEYS = {
  j: () => move(1), k: () => move(-1), n: () => step(1), p: () => step(-1), a: () => judge(true), d: () => judge(false), c: () => judge(null),
  e: () => { const item = $("detail").querySelectorAll(".item")[Math.max(state.item, 0)]; const note = item && item.querySelector(".note-text"); if (note) note.focus(); },
  x: save, t: theme, Escape: shut, "/": () => $("search").focus(), "?": () => $("keys").showModal(),
};

// The sign on the key where it is a Latin letter, else the letter that the same key has elsewhere:
// so a Russian or Greek layout works, and so does one with other places for the letters.
function keyOf(event) {
  if (/^[a-z]$/i.test(event.key)) return event.key.toLowerCase();
  if (/^Key[A-Z]$/.test(event.code)) return event.code[3].toLowerCase();
  return event.code === "Slash" && !(event.key in KEYS) ? (event.shiftKey ? "?" : "/") : event.key;
}

function pressed(event) {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
  if (typing) { if (event.key === "Escape") { event.target.blur(); if (state.open) $("detail").focus(); } return; }
  // A key that is held down repeats itself; one press is one label.
  if (event.repeat && "adc".includes(keyOf(event))) { event.preventDefault(); return; }
  let action = KEYS[keyOf(event)];
  if (event.target === $("scroll")) {
    const page = Math.floor($("scroll").clientHeight / ROW) || 1;
    action = {ArrowDown: () => move(1), ArrowUp: () => move(-1), PageDown: () => move(page), PageUp: () => move(-page), Home: () => move(-1e9), End: () => move(1e9), Enter: () => state.view[state.at] && show(state.view[state.at])}[event.key] || action;
  } else if (event.key === "Enter" && !state.open && event.target === document.body && state.view[state.at]) action = () => show(state.view[state.at]);
  if (action) { event.preventDefault(); action(); }
}

// Paper has no scrolling: the first rows of the view, and whatever row is open.
function print() {
  const table = make("table"), shown = state.view.slice(0, 200);
  table.append(...shown.map((row) => {
    const element = make("tr");
    element.append(make("td", "", row.id), ...row.sides.map((side) => { const cell = make("td"); cell.append(scoreCell(side, row.grader)); return cell; }), make("td", "", first(row).sample.question || ""));
    return element;
  }));
  $("printed").replaceChildren(make("h3", "", say("of_rows", {shown: shown.length, count: state.view.length})), table);
}

function choices(id, values) {
  $(id).append(...values.map(([value, words]) => { const option = make("option", "", words); option.value = value; return option; }));
}

async function start() {
  const data = (state.data = read(await unpack($("data"))));
  state.labels = remembered();
  document.body.classList.toggle("compare", data.sides.length > 1);
  choices("grader", data.graders.map((name) => [name, titleOf(name)]));
  $("grader").hidden = data.graders.length < 2;
  choices("band", data.bands.map(([name], i) => [i, name]));
  for (const id of ["annotator", "export"]) $(id).hidden = data.sides.length > 1;
  for (const [words, name, className] of data.sides.length > 1 ? PAIRED : COLUMNS) {
    const cell = make("span", className), button = make("button", "", words === "#" ? words : say(words));
    button.dataset.sort = name;
    button.type = "button";
    button.addEventListener("click", () => sort(name));
    cell.setAttribute("role", "columnheader");
    cell.append(button);
    $("head").append(cell);
  }
  sort();
  keep();
  let waiting = 0;
  $("search").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 60); });
  for (const id of ["grader", "band", "outcome", "verdict"]) $(id).addEventListener("change", filter);
  $("scroll").addEventListener("scroll", () => requestAnimationFrame(draw), {passive: true});
  addEventListener("resize", draw);
  addEventListener("beforeprint", print);
  addEventListener("keydown", pressed);
  $("export").addEventListener("click", save);
  $("theme").addEventListener("click", theme);
  $("help").addEventListener("click", () => $("keys").showModal());
  $("close-keys").addEventListener("click", () => $("keys").close());
  const detail = $("detail");
  detail.addEventListener("mouseover", (event) => { const hit = event.target.closest("[data-items]"); if (hit) light(hit.dataset.side, hit.dataset.items.split(" ")); });
  detail.addEventListener("mouseleave", () => light("", []));
  // Made now, so that the first search is as quick as any.
  data.list.forEach(text);
  if (data.labelling && state.view.length) show(state.view[0]);
  document.body.dataset.ready = "yes";
}

start().catch((error) => { $("count").textContent = $("count").dataset.unreadable.replace("{error}", error.message); });
})();
