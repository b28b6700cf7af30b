// The messages of a prompt as a reader sees them: by role, every stretch in the colour of its source, folded when long.
const LONG = 12
// Where *query* stands in a message, whatever pieces it goes across: pairs of from and to.
function places_(pieces, query) {
  if (!query) return []
  const text = pieces.map((piece) => piece.text).join(""), words = query.split(/\s+/u).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
  return [...text.matchAll(new RegExp(words.join("\\s+"), "giu"))].map((hit) => [hit.index, hit.index + hit[0].length])
}
// Characters that nobody sees although a model reads them: they are shown by their numbers, and turn no line around.
const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f\u00ad\u200b\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/u
function seen_(text) {
  if (!UNSEEN.test(text)) return [text]
  return text.split(new RegExp(`(${UNSEEN.source})`, "u")).map((piece, at) => at % 2 ? h("i", { class: "unseen", title: "A character that is not seen but sent" }, "U+" + piece.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")) : piece)
}
// *text*, which begins at *start* in its message, with what of *places* stands in it marked.
function sought(text, start, places) {
  const kids = []
  let at = 0
  for (const [from, to] of places) {
    const left = Math.max(0, from - start), right = Math.min(text.length, to - start)
    if (right <= left) continue
    kids.push(...seen_(text.slice(at, left)), h("mark", {}, seen_(text.slice(left, right)))); at = right
  }
  return [...kids, ...seen_(text.slice(at))]
}
function message_(data, at, query = "", found = { count: 0 }) {
  const places = places_(data.pieces, query)
  let start = 0
  const text = h("div", { class: "text" }, data.pieces.map((piece) => {
    const el = h("span", { class: "piece " + piece.kind + (piece.calls ? " calls" : ""), title: piece.title }, sought(piece.text, start, places))
    start += piece.text.length
    return el
  }))
  const long = data.pieces.reduce((lines, piece) => lines + piece.text.split("\n").length - 1, 1) > LONG || data.pieces.reduce((sum, piece) => sum + piece.text.length, 0) > 900
  const open = places.length > 0
  found.count += places.length
  const el = h("article", { class: "message" + (long && !open ? " folded" : ""), "aria-label": `Message ${at + 1}, ${data.role}` },
    h("header", {}, h("b", {}, data.role), data.source ? h("span", { class: "source quiet" }, data.source) : "", h("span", { class: "gap" }), h("span", { class: "quiet figure" }, `${figure(data.tokens)} tokens`)), text)
  if (long) el.append(h("button", { class: "link", onclick: (event) => { event.target.textContent = el.classList.toggle("folded") ? "show all" : "fold" } }, open ? "fold" : "show all"))
  if (query && !open) el.hidden = true
  return el
}
