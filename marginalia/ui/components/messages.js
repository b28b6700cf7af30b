// The messages of a prompt as a reader sees them: by role, every stretch in the colour of its source, folded when long.
const LONG = 12
// *text* with every place of *query* marked; how many there are is counted in *found*.
function sought(text, query, found) {
  if (!query) return [text]
  const low = text.toLowerCase(), kids = []
  let at = 0
  for (let next = low.indexOf(query); next >= 0 && low.length === text.length; next = low.indexOf(query, at)) {
    kids.push(text.slice(at, next), h("mark", {}, text.slice(next, next + query.length))); at = next + query.length; found.count += 1
  }
  return [...kids, text.slice(at)]
}
function message_(data, at, query = "", found = { count: 0 }) {
  const before = found.count
  const text = h("div", { class: "text" }, data.pieces.map((piece) => h("span", { class: "piece " + piece.kind + (piece.calls ? " calls" : ""), title: piece.title }, sought(piece.text, query, found))))
  const long = data.pieces.reduce((lines, piece) => lines + piece.text.split("\n").length - 1, 1) > LONG || data.pieces.reduce((sum, piece) => sum + piece.text.length, 0) > 900
  const open = found.count > before
  const el = h("article", { class: "message" + (long && !open ? " folded" : ""), "aria-label": `Message ${at + 1}, ${data.role}` },
    h("header", {}, h("b", {}, data.role), data.source ? h("span", { class: "source quiet" }, data.source) : "", h("span", { class: "gap" }), h("span", { class: "quiet figure" }, `${figure(data.tokens)} tokens`)), text)
  if (long) el.append(h("button", { class: "link", onclick: (event) => { event.target.textContent = el.classList.toggle("folded") ? "show all" : "fold" } }, open ? "fold" : "show all"))
  if (query && !open) el.hidden = true
  return el
}
