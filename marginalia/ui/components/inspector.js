// Five pages under one row of tabs. All stay where they are: a plot that is taken out and put back loses what came between.
export function render({ model }) {
  const names = ["budget", "lore", "prompt", "run", "panels"]
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": "Inspector" })
  const pages = names.map((name, at) => {
    const page = h("div", { class: "page", role: "tabpanel", id: `page-${name}`, "aria-labelledby": `tab-${name}` }, model.get_child(name))
    list.append(h("button", { role: "tab", id: `tab-${name}`, "aria-controls": `page-${name}`, onclick: () => choose(at) }, name[0].toUpperCase() + name.slice(1)))
    return page
  })
  const draw = () => pages.forEach((page, at) => {
    const chosen = at === model.active, tab = list.children[at]
    page.hidden = !chosen; tab.setAttribute("aria-selected", String(chosen)); tab.tabIndex = chosen ? 0 : -1
  })
  const choose = (at) => { model.active = (at + names.length) % names.length; draw(); list.children[model.active].focus() }
  list.addEventListener("keydown", (event) => { const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key]; if (by) { event.preventDefault(); choose(model.active + by) } })
  model.on("active", draw); draw()
  return h("div", { class: "inspector" }, list, pages)
}
