export function render({ model }) {
  const choose = (label, what) => h("select", { "aria-label": label, title: label, onchange: (event) => { const value = event.target.value; event.target.value = String(event.target.dataset.kept); say(what, { value }) } })
  const books = choose("Book", "book"), protocols = choose("Protocol", "protocol"), providers = choose("Model", "provider")
  const dot = h("i", { class: "dot" }), state = h("span", { class: "state", role: "status" })
  const bar = h("div", { class: "masthead" }, books, h("span", { class: "gap" }), h("span", { class: "model" }, dot, providers, state), h("span", { class: "sep" }, "·"), protocols,
    h("button", { class: "icon", "aria-label": "All keys", title: "All keys (?)", onclick: () => say("keys") }, "?"),
    h("button", { class: "icon", "aria-label": "Extensions", title: "Extensions (X)", onclick: () => say("extensions") }, "✚"),
    h("button", { class: "icon", "aria-label": "Settings", title: "Book, model and prompts", onclick: () => say("settings") }, "⚙"))
  const fill = (select, options, value) => { select.replaceChildren(...options.map(([id, label]) => h("option", { value: String(id), selected: id === value }, label))); select.dataset.kept = String(value); select.value = String(value) }
  const draw = () => {
    fill(books, model.books, model.book); fill(providers, model.providers, model.provider); fill(protocols, model.protocols, model.protocol)
    dot.className = "dot " + model.state.kind; dot.title = model.state.text; state.textContent = model.state.short
  }
  model.on(["books", "book", "providers", "provider", "protocols", "protocol", "state"], draw)
  const say = connect(model, {}); draw()
  return bar
}
