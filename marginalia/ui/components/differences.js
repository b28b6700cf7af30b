// What is different between two prompts: one line per piece with its cause, its words to unfold.
const MARKS = { added: "+", removed: "−", changed: "~", moved: "↕" }
function difference_(change) {
  const words = () => h("div", { class: "text words" }, change.words.map(([fate, text]) => h(fate === "added" ? "ins" : fate === "removed" ? "del" : "span", {}, seen_(text))))
  const tokens = change.before === change.after ? `${figure(change.after)}` : `${figure(change.before)} → ${figure(change.after)}`
  const head = h("summary", {}, h("i", { "aria-label": change.kind }, MARKS[change.kind]), h("span", { class: "what" }, h("b", { class: change.lore ? "lore" : "" }, change.source), h("span", { class: "cause" }, stressed(change.cause))), h("span", { class: "quiet figure" }, tokens))
  const el = h("details", { class: "change " + change.kind }, head)
  el.dataset.of = change.source
  el.addEventListener("toggle", () => { if (el.open && el.children.length === 1) el.append(words()) })
  return el
}
// Draw what is different; what was unfolded stays so, as far as it is still there.
function redraw_(el, data) {
  const open = new Set([...el.querySelectorAll("details[open]")].map((each) => each.dataset.of))
  el.replaceChildren(...(data ? differences_(data) : []))
  for (const each of el.querySelectorAll("details")) if (open.has(each.dataset.of)) each.open = true
}
function differences_(data) {
  return [h("p", { class: "sum" }, data.title), ...(data.text ? [h("p", { class: "quiet" }, data.text)] : []), ...data.notes.map((note) => h("p", { class: "quiet" }, note)), ...data.changes.map(difference_)]
}
