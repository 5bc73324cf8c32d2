// Reads the embedded rows and shows them. Data is always text, never markup.
const ROW = 36, MARGIN = 12;
const state = {data: null, view: [], at: -1, open: null, item: -1, sort: "worst", down: false, narrowed: null, chunks: new Map()};

const titleOf = (grader) => state.data.titles[grader] ?? grader;
const reasonOf = (why) => state.data.reasons[why] ?? why;

// A row: its sample, and the gradings of each side.
const first = (row) => row.sides.find((side) => side);
const gradingOf = (side, grader) => side && side.gradings.find((one) => one.grader === grader);
const scoreOf = (row, grader, n = 0) => gradingOf(row.sides[n], grader)?.score ?? null;
const change = (row, grader) => { const [a, b] = [scoreOf(row, grader), scoreOf(row, grader, 1)]; return a === null || b === null ? null : b - a; };
const bandOf = (value) => state.data.bands.findIndex(([, lower]) => value >= lower - 1e-9);
// Only findings with a yes or no are counted, not ratings.
const decided = (item) => item.verdict !== "o";
const isPaired = () => state.data.sides.length > 1;

function read(data) {
  const samples = data.samples.map(([id, question, answer, reference, chunks, spans, columns], place) => ({id, question, answer, reference, chunks, spans, columns, place}));
  data.list = data.rows.map((sides, number) => {
    const row = {number, sides: sides.map((side) => {
      if (!side) return null;
      const gradings = side[1].map(([grader, status, score, why, error, items, warnings, seconds, repeats]) => ({grader: data.graders[grader], status, score, why, error, warnings, seconds, repeats,
        items: items.map(([text, verdict, label, reasoning, ids, quotes, sentences, origin, ofAnswer, shown, differs, said]) => ({text, verdict, label, reasoning, ids, quotes, sentences, origin, ofAnswer, shown, differs, said}))}));
      return {sample: samples[side[0]], gradings, items: gradings.flatMap((one) => one.items)};
    })};
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
      parts.push(side.sample.question, side.sample.answer, ...side.sample.columns);
      for (const one of side.gradings) parts.push(one.error, one.why);
      for (const item of side.items) parts.push(item.shown, item.label, item.reasoning);
    }
    row.text = parts.filter(Boolean).join("\n").toLowerCase();
  }
  return row.text;
}

// Failed rows, then the lowest scores, then unscored rows; for two runs, the largest changes.
function worstFirst(row) {
  if (isPaired()) return -Math.max(...state.data.graders.map((grader) => Math.abs(change(row, grader) ?? 9)));
  return Math.min(...first(row).gradings.map((one) => one.status === "failed" ? -1 : one.score ?? 2));
}

function keyFor(name) {
  if (name === "number") return (row) => row.number;
  if (name === "id") return (row) => row.id;
  if (name === "text") return (row) => first(row).sample.question || first(row).sample.answer || "";
  if (name === "column") return (row) => first(row).sample.columns[+$("column").value] ?? "";
  if (name === "worst") return worstFirst;
  return isPaired() ? (row) => change(row, name) ?? 9 : (row) => gradingOf(row.sides[0], name)?.status === "failed" ? -1 : scoreOf(row, name) ?? 2;
}

// Whether a grading passes a verdict filter.
const ASKED = {
  n: (one) => one.items.some((item) => item.verdict === "n" || item.verdict === "c"),
  c: (one) => one.items.some((item) => item.verdict === "c"),
  s: (one) => one.items.some(decided) && one.items.every((item) => item.verdict === "s" || !decided(item)),
  w: (one) => one.warnings.length,
  l: (one) => one.items.some((item) => item.said.length),
  x: (one) => one.items.some((item) => item.said.some(([, value]) => value !== null && value !== (item.verdict === "s"))),
};

function passes(row, wanted) {
  const gradings = row.sides.filter(Boolean).flatMap((side) => side.gradings).filter((one) => !wanted.grader || one.grader === wanted.grader);
  if (!gradings.length) return false;
  if (wanted.outcome && !gradings.some((one) => one.status === wanted.outcome)) return false;
  if (wanted.band !== "" && !gradings.some((one) => one.score !== null && bandOf(one.score) === +wanted.band)) return false;
  if (wanted.verdict && !gradings.some(ASKED[wanted.verdict])) return false;
  const only = state.narrowed;
  if (only && only.column !== undefined && (first(row).sample.columns[0] ?? null) !== only.value) return false;
  if (only && only.low !== undefined && !gradings.some((one) => one.grader === only.grader && one.score !== null && one.score >= only.low - 1e-9 && (one.score < only.high - 1e-9 || only.high === 1))) return false;
  return wanted.words.every((word) => text(row).includes(word));
}

function filter() {
  const wanted = {grader: $("grader").value, band: $("band").value, outcome: $("outcome").value, verdict: $("verdict").value,
    words: $("search").value.toLowerCase().split(/\s+/).filter(Boolean)};
  const open = state.view[state.at];
  state.view = state.sorted.filter((row) => passes(row, wanted));
  state.at = Math.max(state.view.indexOf(open), state.view.length ? 0 : -1);
  $("count").textContent = state.view.length === state.data.list.length ? say("rows", {count: state.view.length}) : say("of_rows", {shown: state.view.length, count: state.data.list.length});
  $("narrowed").hidden = !state.narrowed;
  $("narrowed").textContent = state.narrowed ? `${state.narrowed.words} ×` : "";
  $("space").style.height = state.view.length * ROW + "px";
  $("table").setAttribute("aria-rowcount", state.view.length);
  $("scroll").scrollTop = 0;
  draw();
}

function sort(name) {
  if (name) { state.down = state.sort === name && !state.down; state.sort = name; }
  const by = keyFor(state.sort), sign = state.down ? -1 : 1;
  const keyed = state.data.list.map((row) => [by(row), row]);
  keyed.sort(([a, x], [b, y]) => (a < b ? -sign : a > b ? sign : x.number - y.number));
  state.sorted = keyed.map(([, row]) => row);
  for (const button of $("head").querySelectorAll("button")) button.parentElement.setAttribute("aria-sort", button.dataset.sort !== state.sort ? "none" : state.down ? "descending" : "ascending");
  filter();
}

function columns() {
  const chosen = $("column").value;
  return [["#", "number", "wide"], [say("row"), "id", "wide"], ...state.data.graders.map((name) => [titleOf(name), name, ""]),
    ...(chosen === "" ? [] : [[state.data.columns[+chosen], "column", "wide"]]), [say("question"), "text", ""]];
}

function heads() {
  $("head").replaceChildren(...columns().map(([words, name, className]) => {
    const cell = make("span", className), button = make("button", "", words);
    button.dataset.sort = name;
    button.type = "button";
    button.title = words;
    button.addEventListener("click", () => sort(name));
    cell.setAttribute("role", "columnheader");
    cell.append(button);
    return cell;
  }));
  $("list").style.setProperty("--graders", state.data.graders.length);
  $("list").style.setProperty("--own", $("column").value === "" ? "" : "minmax(4rem,8rem)");
}

function scoreCell(grading) {
  if (!grading) return make("span", "tag", "–");
  if (grading.score === null) { const cell = make("span", grading.status === "failed" ? "why" : "tag", say(grading.status)); cell.title = reasonOf(grading.why) || ""; return cell; }
  const [label, , means, about, plain] = state.data.bands[bandOf(grading.score)];
  const [name, meaning] = grading.grader.startsWith(about) ? [label, means] : [plain, null];
  const cell = make("span", "t" + Math.min(bandOf(grading.score), 3), say("row_score", {score: number(grading.score), percent: percent(grading.score)}));
  cell.title = [percent(grading.score), name, meaning].filter(Boolean).join(" · ");
  return cell;
}

// One score, or two with their difference.
function scoresOf(row, grader) {
  if (!isPaired()) return scoreCell(gradingOf(row.sides[0], grader));
  const cell = make("span"), moved = change(row, grader);
  cell.append(scoreCell(gradingOf(row.sides[0], grader)), " → ", scoreCell(gradingOf(row.sides[1], grader)));
  if (moved) cell.append(" ", make("b", moved < 0 ? "t3" : "t0", (moved > 0 ? "+" : "") + number(moved)));
  return cell;
}

function line(row, place) {
  const element = make("div", "row"), sample = first(row).sample, chosen = $("column").value;
  element.setAttribute("role", "row");
  element.setAttribute("aria-rowindex", place + 1);
  element.setAttribute("aria-selected", place === state.at);
  const own = chosen === "" ? [] : [make("span", "wide", sample.columns[+chosen] ?? "")];
  const cells = [make("span", "wide", row.number), make("span", "wide", row.id), ...state.data.graders.map((grader) => scoresOf(row, grader)), ...own,
    make("span", "", sample.question || sample.answer || first(row).gradings.map((one) => one.error).find(Boolean) || row.id)];
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

function sentences(sample) {
  const answer = sample.answer || "";
  if (sample.spans) return sample.spans.map(([start, end]) => [unit(answer, start), unit(answer, end)]);
  if (!Intl.Segmenter) return [[0, answer.length]];
  return [...new Intl.Segmenter(undefined, {granularity: "sentence"}).segment(answer)].map((part) => [part.index, part.index + part.segment.length]);
}

const words = (source) => source.toLowerCase().match(/[\p{L}\p{N}]+/gu) || [];

// Assign statements to sentences: by number, by exact text, otherwise by common words.
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

// Show Markdown's bold, code, headings and bullets as elements; the rest, tags too, as text.
function styled(source, other) {
  return source.split(/(\*\*[^*\n]+\*\*|`[^`\n]+`|^#{1,6} [^\n]*|^[*-] )/m).flatMap((part, n) => {
    if (n % 2 === 0) return other ? marked(part, other) : [part];
    if (part.startsWith("**")) return [make("b", "", part.slice(2, -2))];
    if (part[0] === "`") return [make("code", "", part.slice(1, -1))];
    return part[0] === "#" ? [make("b", "", part.replace(/^#+ /, ""))] : ["• "];
  });
}

// Words that are not in the other side's text.
const marked = (source, other) => source.split(/([\p{L}\p{N}]+)/u).map((part, n) => n % 2 && !other.has(part.toLowerCase()) ? make("ins", "", part) : part);

function answerOf(side, n, other) {
  const box = make("div", "pre answer"), answer = side.sample.answer || "", spans = sentences(side.sample), found = assign(side, spans);
  let at = 0;
  spans.forEach(([start, end], i) => {
    box.append(answer.slice(at, start));
    const span = tie(make("span", found[i].length ? "sent v-" + worst(found[i].map((k) => side.items[k])) : "sent"), n, found[i]);
    span.append(...styled(answer.slice(start, end), other));
    box.append(span);
    at = end;
  });
  box.append(answer.slice(at));
  return box;
}

function itemOf(side, n, item) {
  const i = side.items.indexOf(item), element = tie(make("li", "item v-" + item.verdict), n, [i]);
  element.tabIndex = 0;
  element.append(make("p", "pre", item.shown));
  const cited = item.ids.length ? ` · ${say("chunk")} ${item.ids.join(", ")}` : "";
  element.append(make("p", "tag", item.label + cited + (item.origin ? " · " + item.origin : "")));
  if (item.reasoning) element.append(make("p", "why-text pre", item.reasoning));
  if (item.differs) element.append(make("p", "why-text pre", say("differs", {words: item.differs})));
  for (const [who, value, note] of item.said) element.append(make("p", "tag said", say("said", {who: who || say("somebody"), said: say(value === null ? "said_unsure" : value ? "said_yes" : "said_no")}) + (note ? ": " + note : "")));
  element.addEventListener("focus", () => { state.item = i; light(n, [String(i)]); });
  return element;
}

function chunkOf(side, n, id, [source, about], other) {
  const citing = side.items.map((item, i) => (item.ids.includes(id) ? i : -1)).filter((i) => i >= 0);
  const element = tie(make("div", citing.length ? "chunk cited" : "chunk"), n, citing);
  element.append(make("p", "tag", `${say("chunk")} ${id}` + (about ? " · " + about : "") + (citing.length ? " · " + say("cited") : "") + (other && !other.has(source) ? " · " + say("only_here") : "")));
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

function gradingBox(side, n, grading) {
  const head = make("p"), score = scoreCell(grading);
  head.append(score, " ", make("span", "tag", grading.score === null ? reasonOf(grading.why) || "" : score.title));
  const parts = [head];
  if (grading.repeats.length) parts.push(make("p", "tag", say("repeats", {count: grading.repeats.length, scores: grading.repeats.map((value) => value === null ? "–" : number(value)).join("  ")})));
  if (grading.error) parts.push(make("p", "why pre", grading.error));
  for (const warning of grading.warnings) parts.push(make("p", "tag", say("warning", {text: warning})));
  if (grading.items.length) {
    const list = make("ol", "items");
    list.append(...grading.items.map((item) => itemOf(side, n, item)));
    parts.push(list);
  }
  return titled(titleOf(grading.grader), ...parts);
}

// The judge's messages and replies, if the run kept them.
function repliesOf(replies) {
  return replies.map(([grader, sent, reply]) => {
    const box = make("details"), name = make("summary", "", say("reply_of", {grader: titleOf(grader)}));
    box.append(name, make("pre", "pre", sent), make("pre", "pre", reply));
    return box;
  });
}

async function sideOf(row, side, n) {
  const box = make("div", "side"), other = isPaired() ? row.sides[1 - n] : null;
  if (isPaired()) box.append(make("h2", "", state.data.sides[n]));
  if (!side) { box.append(make("p", "why", say("absent"))); return box; }
  const differs = other && other.sample.answer !== side.sample.answer;
  if (side.sample.answer !== null) box.append(...titled(say("answer"), answerOf(side, n, differs ? new Set(words(other.sample.answer || "")) : null)));
  if (side.sample.reference) box.append(...titled(say("reference"), make("div", "pre", side.sample.reference)));
  for (const grading of side.gradings) box.append(...gradingBox(side, n, grading));
  const [chunks, replies] = await chunksOf(side.sample);
  const others = other && new Set((await chunksOf(other.sample))[0].map(([source]) => source));
  if (chunks.length) box.append(...titled(say("chunks", {count: chunks.length}), ...chunks.map((chunk, id) => chunkOf(side, n, id, chunk, others))));
  box.append(...repliesOf(replies));
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
  bar.append(make("h2", "", row.id), make("span", "push"), close);
  const detail = $("detail"), question = first(row).sample.question;
  detail.replaceChildren(bar, ...(question ? titled(say("question"), make("div", "pre", question)) : []), sides);
  detail.hidden = false;
  detail.scrollTop = 0;
  at("#row=" + encodeURIComponent(row.id));
}

// The URL names the open row, so that it can be shared.
function at(hash) { try { history.replaceState(null, "", hash || location.pathname + location.search); } catch {} }

function linked() {
  const wanted = /^#row=(.*)$/.exec(location.hash);
  if (!wanted) return;
  let id = wanted[1];
  try { id = decodeURIComponent(id); } catch {}
  const row = state.data.list.find((one) => one.id === id);
  if (!row || row === state.open) return;
  state.at = state.view.indexOf(row);
  move(0);
  show(row);
}

function shut() { state.open = null; state.item = -1; $("detail").hidden = true; at(""); $("scroll").focus(); }

function step(by) {
  const items = [...$("detail").querySelectorAll(".item")];
  if (!items.length) return;
  state.item = Math.min(items.length - 1, Math.max(0, state.item + by));
  items[state.item].focus();
}

const KEYS = {j: () => move(1), k: () => move(-1), n: () => step(1), p: () => step(-1), t: theme, Escape: shut, "/": () => $("search").focus(), "?": () => $("keys").showModal()};

function pressed(event) {
  const typing = /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
  if (event.ctrlKey || event.metaKey || event.altKey || $("keys").open) return;
  if (typing) { if (event.key === "Escape") { event.target.blur(); if (state.open) $("detail").focus(); } return; }
  if (event.key === "Enter" && event.target.dataset.narrow) { narrow(event.target); return; }
  let action = KEYS[keyOf(event)];
  if (event.target === $("scroll")) {
    const page = Math.floor($("scroll").clientHeight / ROW) || 1;
    action = {ArrowDown: () => move(1), ArrowUp: () => move(-1), PageDown: () => move(page), PageUp: () => move(-page), Home: () => move(-1e9), End: () => move(1e9), Enter: () => state.view[state.at] && show(state.view[state.at])}[event.key] || action;
  } else if (event.key === "Enter" && !state.open && event.target === document.body && state.view[state.at]) action = () => show(state.view[state.at]);
  if (action) { event.preventDefault(); action(); }
}

// A band, a bar of the histogram or a group selected by a click.
function narrow(element) {
  const wanted = JSON.parse(element.dataset.narrow);
  if (wanted.band !== undefined) { $("band").value = wanted.band; $("grader").value = state.data.graders.length > 1 ? wanted.grader : ""; }
  else state.narrowed = {...wanted, words: element.dataset.words || element.textContent.trim()};
  filter();
  $("list").scrollIntoView({block: "nearest"});
}

// Paper does not scroll: print the first rows of the view, and open rows.
function print() {
  const table = make("table"), shown = state.view.slice(0, 200);
  table.append(...shown.map((row) => {
    const element = make("tr");
    element.append(make("td", "", row.id), ...state.data.graders.map((grader) => { const cell = make("td"); cell.append(scoresOf(row, grader)); return cell; }), make("td", "", first(row).sample.question || ""));
    return element;
  }));
  $("printed").replaceChildren(make("h3", "", say("of_rows", {shown: shown.length, count: state.view.length})), table);
}

function choices(id, values) {
  $(id).append(...values.map(([value, words]) => { const option = make("option", "", words); option.value = value; return option; }));
}

async function start() {
  const data = (state.data = read(await unpack($("data"))));
  document.body.classList.toggle("compare", isPaired());
  choices("grader", data.graders.map((name) => [name, titleOf(name)]));
  $("grader").hidden = data.graders.length < 2;
  choices("band", data.bands.map(([name], i) => [i, name]));
  choices("column", data.columns.map((name, i) => [i, name]));
  $("column").hidden = !data.columns.length;
  heads();
  sort();
  let waiting = 0;
  $("search").addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(filter, 60); });
  for (const id of ["grader", "band", "outcome", "verdict"]) $(id).addEventListener("change", filter);
  $("column").addEventListener("change", () => { heads(); sort(); });
  $("narrowed").addEventListener("click", () => { state.narrowed = null; filter(); });
  document.querySelector(".top").addEventListener("click", (event) => { const hit = event.target.closest("[data-narrow]"); if (hit) narrow(hit); });
  $("scroll").addEventListener("scroll", () => requestAnimationFrame(draw), {passive: true});
  addEventListener("resize", draw);
  addEventListener("hashchange", linked);
  addEventListener("beforeprint", print);
  addEventListener("keydown", pressed);
  $("theme").addEventListener("click", theme);
  $("help").addEventListener("click", () => $("keys").showModal());
  $("close-keys").addEventListener("click", () => $("keys").close());
  const detail = $("detail");
  detail.addEventListener("mouseover", (event) => { const hit = event.target.closest("[data-items]"); if (hit) light(hit.dataset.side, hit.dataset.items.split(" ")); });
  detail.addEventListener("mouseleave", () => light("", []));
  // Built now, so that the first search is fast.
  data.list.forEach(text);
  linked();
  document.body.dataset.ready = "yes";
}

start().catch((error) => { $("count").textContent = $("count").dataset.unreadable.replace("{error}", error.message); });
