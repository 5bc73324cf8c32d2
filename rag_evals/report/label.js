// Shows one decision after another. Data is always text, never markup.
const state = {data: null, list: [], at: 0, said: new Map(), others: [], undone: [], lastOf: null};

const key = (one) => [one.sample_id, one.grader, one.statement, one.text].join("\n");
// Number of passages shown at once; a button shows the rest.
const FEW_CHARACTERS = 2000;
const LABELS = {yes: true, no: false, partly: false, unsure: null};

function read(data) {
  state.list = data.decisions.map(([sample_id, grader, statement, text, verdict, word, about, question, answer, chunks, places, shown, weight]) =>
    ({sample_id, grader, statement, text, verdict, word, about, question, answer, chunks: data.chunks[chunks], places, shown, weight}));
  state.known = new Set(state.list.map(key));
}

// Move the focus too: on a hidden button it would be lost.
const show = (id) => { for (const one of ["intro", "ask", "end"]) $(one).hidden = one !== id; (id === "ask" ? $("passages") : id === "end" ? $("save") : null)?.focus(); };
const unanswered = () => state.list.findIndex((one) => !state.said.has(key(one)));
const answeredCount = () => state.list.filter((one) => state.said.has(key(one))).length;

function chunkBox(one, id) {
  const box = make("div", "chunk"), source = one.chunks[id], area = make("div", "pre");
  box.append(make("p", "tag", say("passage", {id: id + 1})));
  let at = 0;
  const places = one.places.filter(([chunk]) => chunk === id).map(([, start, end]) => [unit(source, start), unit(source, end)]).sort((a, b) => a[0] - b[0]);
  for (const [start, end] of places) {
    if (start < at) continue;
    area.append(source.slice(at, start), make("mark", "", source.slice(start, end)));
    at = end;
  }
  area.append(source.slice(at));
  box.append(area);
  return box;
}

// The passages to read first; a button shows the rest.
function passages(one) {
  const all = one.chunks.map((_, id) => id);
  const first = one.about === "chunk" ? all.filter((id) => one.text === "chunk " + id) : [...new Set(one.places.map(([id]) => id))];
  const shown = first.length ? first : all.slice(0, 3), rest = all.filter((id) => !shown.includes(id));
  const boxes = shown.map((id) => chunkBox(one, id));
  const length = rest.reduce((sum, id) => sum + one.chunks[id].length, 0);
  if (length < FEW_CHARACTERS) boxes.push(...rest.map((id) => chunkBox(one, id)));
  else if (rest.length) {
    const more = make("details");
    more.append(make("summary", "", say("more_passages", {count: rest.length})));
    more.addEventListener("toggle", () => { if (more.children.length === 1) more.append(...rest.map((id) => chunkBox(one, id))); });
    boxes.push(more);
  }
  if (!all.length) boxes.push(make("p", "tag", say("no_passages")));
  return boxes;
}

function draw() {
  const one = state.list[state.at], known = state.said.get(key(one));
  $("asked").textContent = one.question ? say("asked", {question: one.question}) : "";
  $("statement").textContent = one.about === "chunk" ? one.answer || "" : one.shown;
  $("statement").hidden = !$("statement").textContent;
  $("statement").scrollTop = 0;
  $("ask-words").textContent = say(one.about === "chunk" ? "ask_chunk" : one.about === "answer" ? "ask_answer" : "ask");
  const answer = one.about === "answer" && one.answer ? [make("p", "tag", say("answer")), make("div", "chunk pre", one.answer)] : [];
  $("passages").replaceChildren(...answer, ...passages(one));
  const mark = $("passages").querySelector("mark"), area = $("passages");
  area.scrollTop = 0;
  if (mark) area.scrollTop = Math.max(0, mark.offsetTop - area.offsetTop - Math.max(8, (area.clientHeight - mark.offsetHeight) / 2));
  for (const button of document.querySelectorAll("[data-answer]")) button.setAttribute("aria-pressed", !!known && known.answer === button.dataset.answer);
  $("note").value = known ? known.note : "";
  const told = state.data.shown ? say("judge_says", {label: one.word}) : state.lastOf;
  $("last").textContent = told || " ";
  $("back").disabled = !state.at;
  $("undo").disabled = !state.undone.length;
  count();
}

function count() {
  const done = answeredCount();
  $("done").textContent = $("ask").hidden ? say("done", {done, count: state.list.length}) : say("place", {place: state.at + 1, count: state.list.length, done});
  $("progress").value = done;
  $("progress").max = state.list.length || 1;
}

function decide(answer) {
  const one = state.list[state.at], label = LABELS[answer];
  set(one, {answer, label, agrees: label === null ? null : label === one.verdict});
  state.lastOf = say("you_and_judge", {said: say("said_" + answer), label: one.word});
  const next = state.list.findIndex((other, place) => place > state.at && !state.said.has(key(other)));
  const left = next >= 0 ? next : unanswered();
  if (left < 0) { finish(); return; }
  state.at = left;
  draw();
}

function set(one, values) {
  const name = key(one), before = state.said.get(name) || null;
  const {sample_id, grader, statement, text, verdict} = one;
  // A label stores how its row was drawn.
  const drawn = {...(one.weight ? {weight: one.weight} : {}), ...(state.data.second ? {second_look: true} : {})};
  const entry = {sample_id, grader, statement, text, verdict, ...drawn, answer: null, label: null, agrees: null, note: $("note").value.trim(), ...(before || {}), note: $("note").value.trim(), ...values, at: new Date().toISOString()};
  state.undone.push([name, before, state.at]);
  state.said.set(name, entry);
  keep([entry]);
}

function undo() {
  const last = state.undone.pop();
  if (!last) return;
  const [name, before, at] = last, taken = state.said.get(name);
  if (before) state.said.set(name, before); else state.said.delete(name);
  keep([before || {...taken, answer: null, label: null, agrees: null, note: ""}]);
  state.at = at;
  state.lastOf = null;
  show("ask");
  draw();
}

const who = () => $("name").value.trim();
const lines = () => [...state.others, ...[...state.said.values()].map((entry) => who() ? {...entry, annotator: who()} : entry)];

function keep(entries) {
  // If the browser refuses to store labels, they last as long as the page.
  try { localStorage.setItem("rag-evals:label:" + state.data.key, JSON.stringify({who: who(), said: [...state.said.values()], others: state.others})); } catch {}
  if (state.data.save) post(entries);
}

let sending = Promise.resolve(), unsent = [];
function post(entries) {
  unsent.push(...entries);
  sending = sending.then(async () => {
    if (!unsent.length) return;
    const batch = unsent;
    unsent = [];
    try {
      const answer = await fetch(state.data.save, {method: "POST", body: JSON.stringify({annotator: who(), entries: batch})});
      if (!answer.ok) throw new Error(await answer.text());
      $("saved").textContent = "";
    } catch (error) {
      unsent = [...batch, ...unsent];
      $("saved").textContent = $("last").textContent = say("not_saved", {error: error.message});
    }
  });
  return sending;
}

// Lines of a file or of the server: load those that fit, keep and report the others.
function take(source) {
  let broken = 0, other = 0, taken = 0;
  for (const line of source.split("\n")) {
    if (!line.trim()) continue;
    let entry;
    try { entry = JSON.parse(line); } catch { broken++; continue; }
    if (!entry || typeof entry !== "object") { broken++; continue; }
    if (state.known.has(key(entry)) && (!entry.annotator || !who() || entry.annotator === who())) {
      if (entry.annotator && !who()) $("name").value = entry.annotator;
      const {annotator, ...rest} = entry;
      state.said.set(key(entry), {answer: entry.label === null ? "unsure" : entry.label ? "yes" : "no", note: "", ...rest});
      taken++;
    } else { state.others.push(entry); other++; }
  }
  const told = [say("taken", {count: taken})];
  if (other) told.push(say("other", {count: other}));
  if (broken) told.push(say("broken", {count: broken}));
  $("told").textContent = told.join(" ");
  count();
}

async function start() {
  if (state.data.save) {
    if (!who()) { $("told").textContent = say("name_first"); $("name").focus(); return; }
    if (state.confirmed !== who()) {
      const answer = await fetch(state.data.save + "&annotator=" + encodeURIComponent(who()));
      const there = await answer.text();
      if (!answer.ok) { $("told").textContent = there; return; }
      if (there.trim() && state.confirmed !== who()) {
        take(there);
        state.confirmed = who();
        $("told").textContent = say("name_there", {name: who()});
        return;
      }
    }
  }
  const next = unanswered();
  if (next < 0) { finish(); return; }
  state.at = next;
  show("ask");
  draw();
}

function finish() {
  const labelled = state.list.map((one) => state.said.get(key(one))).filter((entry) => entry && entry.label !== null && entry.label !== undefined);
  const agreed = labelled.filter((entry) => entry.agrees).length, denied = labelled.filter((entry) => !entry.label);
  show("end");
  $("closing").textContent = say("agree_on", {agreed, count: labelled.length});
  $("passing").textContent = denied.length ? say("passes", {passed: denied.filter((entry) => entry.verdict).length, count: denied.length}) : "";
  $("continue").hidden = unanswered() < 0 && !state.list.length;
  $("save").hidden = !!state.data.save;
  count();
}

function save() {
  const link = make("a");
  link.href = URL.createObjectURL(new Blob(lines().map((entry) => JSON.stringify(entry) + "\n"), {type: "application/jsonl"}));
  link.download = "labels.jsonl";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function back() { if (state.at) { state.at--; state.lastOf = null; draw(); } }

const KEYS = {1: "yes", y: "yes", 2: "no", n: "no", 3: "partly", p: "partly", 4: "unsure", c: "unsure"};

function pressed(event) {
  if ($("ask").hidden || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.tagName === "INPUT") { if (event.key === "Enter" || event.key === "Escape") { event.preventDefault(); event.target.blur(); $("passages").focus(); } return; }
  const sign = /^(Digit|Numpad)[1-4]$/.test(event.code) ? event.code.at(-1) : keyOf(event), answer = KEYS[sign];
  const action = answer ? () => decide(answer) : {ArrowLeft: back, b: back, u: undo, e: () => $("note").focus()}[sign];
  if (!action) return;
  event.preventDefault();
  // A held key repeats; count one decision per press.
  if (!event.repeat) action();
}

async function begin() {
  const data = (state.data = await unpack($("data")));
  read(data);
  try {
    const kept = JSON.parse(localStorage.getItem("rag-evals:label:" + data.key));
    if (kept && !data.save) {
      $("name").value = kept.who || "";
      state.others = kept.others || [];
      for (const entry of kept.said) if (state.known.has(key(entry))) state.said.set(key(entry), entry);
      if (answeredCount()) $("told").textContent = say("taken", {count: answeredCount()});
    }
  } catch {}
  count();
  $("start").addEventListener("click", start);
  $("name").addEventListener("keydown", (event) => { if (event.key === "Enter") start(); });
  if ($("file")) $("file").addEventListener("change", async () => { take(await $("file").files[0].text()); keep([]); });
  for (const button of document.querySelectorAll("[data-answer]")) button.addEventListener("click", () => decide(button.dataset.answer));
  $("back").addEventListener("click", back);
  $("undo").addEventListener("click", undo);
  $("stop").addEventListener("click", finish);
  $("save").addEventListener("click", save);
  $("continue").addEventListener("click", () => { const next = unanswered(); state.at = next < 0 ? 0 : next; show("ask"); draw(); });
  $("note").addEventListener("change", () => { const one = state.list[state.at]; if (state.said.has(key(one)) || $("note").value.trim()) set(one, {}); });
  $("theme").addEventListener("click", theme);
  addEventListener("keydown", pressed);
  document.body.dataset.ready = "yes";
}

begin().catch((error) => { $("told").textContent = error.message; });
