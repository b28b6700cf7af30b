export function render({ model }) {
  const choose = (label, what) => h("select", { "aria-label": label, title: label, onchange: (event) => { const value = event.target.value; event.target.value = String(event.target.dataset.kept); say(what, { value }) } })
  const books = choose("Book", "book"), protocols = choose("Protocol", "protocol"), providers = choose("Model", "provider")
  const dot = h("i", { class: "dot" }), state = h("span", { class: "state", role: "status" })
  const icon = (label, title, text, onclick, more = {}) => h("button", { class: "icon", type: "button", "aria-label": label, title, onclick, ...more }, text)
  // Every sheet has its place in one menu, with its key.
  const menu = h("div", { class: "menu", role: "menu", "aria-label": "Places", popover: "auto" })
  const opener = icon("Places", "Books, lore, models and everything else", "⋮", () => menu.togglePopover(), { "aria-haspopup": "menu", "aria-expanded": "false" })
  const items = () => [...menu.querySelectorAll("[role=menuitem]")]
  menu.addEventListener("toggle", (event) => {
    const open = event.newState === "open", at = opener.getBoundingClientRect()
    opener.setAttribute("aria-expanded", String(open))
    if (!open) return
    menu.style.top = at.bottom + 6 + "px"; menu.style.left = Math.max(8, Math.min(at.right - menu.offsetWidth, window.innerWidth - menu.offsetWidth - 8)) + "px"
    items()[0]?.focus()
  })
  menu.addEventListener("keydown", (event) => {
    const all = items(), at = all.indexOf(menu.getRootNode().activeElement), to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key]
    if (event.key === "Escape") { event.stopPropagation(); menu.hidePopover(); opener.focus() }
    else if (event.key === "Tab") menu.hidePopover()
    else if (to !== undefined) { event.preventDefault(); all[(to + all.length) % all.length].focus() }
    if (event.key !== "Tab") event.stopPropagation()
  })
  const bar = h("div", { class: "masthead" }, books, h("span", { class: "gap" }), h("span", { class: "model" }, dot, providers, state), h("span", { class: "sep" }, "·"), protocols,
    icon("All keys", "All keys (?)", "?", () => say("keys")), opener, icon("Settings", "This book, its model and its protocol", "⚙", () => say("settings")), menu)
  const fill = (select, options, value) => { select.replaceChildren(...options.map(([id, label]) => h("option", { value: String(id), selected: id === value }, label))); select.dataset.kept = String(value); select.value = String(value) }
  const draw = () => {
    fill(books, model.books, model.book); fill(providers, model.providers, model.provider); fill(protocols, model.protocols, model.protocol)
    dot.className = "dot " + model.state.kind; dot.title = model.state.text; state.textContent = model.state.short
  }
  const places = () => menu.replaceChildren(...model.places.map(([name, label, key]) => h("button", { role: "menuitem", type: "button", tabIndex: -1, onclick: () => { menu.hidePopover(); name.startsWith("./") ? window.location.assign(name) : say("place", { name }) } }, h("span", {}, label), key ? h("kbd", { "aria-hidden": "true" }, key) : null)))
  model.on(["books", "book", "providers", "provider", "protocols", "protocol", "state"], draw); model.on("places", places)
  const say = connect(model, {}); draw(); places()
  return bar
}
