// Three pages under one row of tabs; what stands in them has the names. They only become invisible: a list or a plot without a size could not be drawn.
export function render({ model }) {
  const names = ["outline", "tree", "summaries"]
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": "Story" })
  const pages = names.map((name, at) => {
    const page = h("div", { class: "page", role: "tabpanel", id: `side-page-${name}` }, model.get_child(name))
    list.append(h("button", { role: "tab", id: `side-${name}`, "aria-controls": `side-page-${name}`, onclick: () => choose(at) }, name[0].toUpperCase() + name.slice(1)))
    return page
  })
  const facts = h("span", { class: "facts quiet figure" })
  const button = (label, what, title, text) => h("button", { class: "link", "aria-label": label, title, onclick: () => say(what) }, text)
  const foot = h("div", { class: "foot" }, facts, h("span", { class: "gap" }),
    button("Undo", "undo", "Undo the last change of the story (Ctrl+Z)", "↶"), button("Redo", "redo", "Redo (Ctrl+Shift+Z)", "↷"), button("Search", "search", "Search all branches (Ctrl+F)", "⌕"), button("Trash", "trash", "What was deleted", "Trash"))
  const draw = () => {
    pages.forEach((page, at) => {
      const chosen = at === model.active, tab = list.children[at]
      page.classList.toggle("off", !chosen); page.inert = !chosen; tab.setAttribute("aria-selected", String(chosen)); tab.tabIndex = chosen ? 0 : -1
    })
    facts.textContent = model.facts; facts.title = model.more
  }
  const choose = (at) => { model.active = (at + names.length) % names.length; draw(); list.children[model.active].focus() }
  list.addEventListener("keydown", (event) => { const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key]; if (by && !event.altKey) { event.preventDefault(); choose(model.active + by) } })
  const say = connect(model, {})
  model.on(["active", "facts", "more"], draw); draw()
  return h("div", { class: "inspector" }, list, h("div", { class: "pages" }, pages), foot)
}
