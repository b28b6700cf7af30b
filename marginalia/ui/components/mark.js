// A line that says that this is not what would be sent now, and the way back.
export function render({ model }) {
  const words = h("span"), el = h("div", { class: "marked", role: "status" }, words, h("button", { class: "link strong", onclick: () => say("now") }, "Back to now"))
  const say = connect(model, {})
  const draw = () => { words.textContent = model.text; el.hidden = !model.text }
  model.on("text", draw); draw()
  return el
}
