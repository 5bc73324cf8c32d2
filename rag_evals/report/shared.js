// Shared by all pages: elements, phrases, unpacked data, and keys of any layout.
const $ = (id) => document.getElementById(id);
const make = (name, className, text) => {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text !== undefined && text !== null) element.textContent = text;
  return element;
};
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

// Phrases in the reader's language; `count` also selects the plural form.
function say(name, values = {}) {
  const phrase = state.data.phrases[name];
  const form = new Intl.PluralRules(state.data.language).select(values.count ?? 0);
  const text = typeof phrase === "string" ? phrase : phrase[form] ?? phrase.many;
  return text.replace(/\{(\w+)\}/g, (_, key) => values[key]);
}
const number = (value) => value.toFixed(2).replace(".", state.data.language === "ru" ? "," : ".");
const percent = (value) => { const hundredths = Math.round(value * 1000) / 10; return number(hundredths).replace(/[.,]?0+$/, "") + " %"; };
// Offsets count code points; JavaScript counts UTF-16 units.
function unit(source, offset) {
  if (!/[\ud800-\udbff]/.test(source)) return offset;
  let units = 0;
  for (const sign of source) { if (offset-- <= 0) break; units += sign.length; }
  return units;
}

function theme() {
  const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
}

// The character of the key if it is a Latin letter, otherwise the Latin letter of the same key:
// so Russian, Greek and other layouts work.
function keyOf(event) {
  if (/^[a-z]$/i.test(event.key)) return event.key.toLowerCase();
  if (/^Key[A-Z]$/.test(event.code)) return event.code[3].toLowerCase();
  return event.code === "Slash" && !(event.key in {"/": 1, "?": 1}) ? (event.shiftKey ? "?" : "/") : event.key;
}

