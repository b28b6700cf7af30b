// Three sentences for the first visit. They go with the first part, or when somebody closes them.
export function render({ model }) {
  const box = h("div", { class: "welcome", role: "note", "aria-label": "Welcome" })
  const draw = () => {
    box.hidden = !model.lines.length
    box.replaceChildren(h("div", { class: "lines" }, model.lines.map((line) => h("p", {}, stressed(line)))), h("div", { class: "acts" },
      model.offer ? h("button", { class: "link strong", type: "button", onclick: () => say("offer") }, "Write an instruction for me") : null,
      h("button", { class: "link", type: "button", onclick: () => say("close"), "aria-label": "Close the welcome" }, "Got it")))
  }
  const say = connect(model, {})
  model.on(["lines", "offer"], draw); draw()
  return box
}
