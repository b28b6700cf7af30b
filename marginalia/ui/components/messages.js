// The messages of a prompt as a reader sees them: by role, every stretch in the colour of its source, folded when long.
const LONG = 12
function message_(data, at) {
  const text = h("div", { class: "text" }, data.pieces.map((piece) => h("span", { class: "piece " + piece.kind, title: piece.title }, piece.text)))
  const long = data.pieces.reduce((lines, piece) => lines + piece.text.split("\n").length - 1, 1) > LONG || data.pieces.reduce((sum, piece) => sum + piece.text.length, 0) > 900
  const el = h("article", { class: "message" + (long ? " folded" : ""), "aria-label": `Message ${at + 1}, ${data.role}` },
    h("header", {}, h("b", {}, data.role), h("span", { class: "gap" }), h("span", { class: "quiet figure" }, `${figure(data.tokens)} tokens`)), text)
  if (long) el.append(h("button", { class: "link", onclick: (event) => { event.target.textContent = el.classList.toggle("folded") ? "show all" : "fold" } }, "show all"))
  return el
}
