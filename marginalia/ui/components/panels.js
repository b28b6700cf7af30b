// What extensions show of the open book, each with its form, one section below the other on *page*; used by two components.
function panelBoard(page, say) {
  const panels = new Map()
  function frame([key, owner, title]) {
    const shown = h("div", { class: "shown" }, h("p", { class: "quiet" }, "looking…")), edit = h("div", {})
    const el = h("section", { "aria-label": title, role: "region" }, h("div", { class: "line" }, h("h3", {}, title), h("span", { class: "quiet" }, title.toLowerCase().replace(/[^a-z]+/g, "") === owner.replace(/[^a-z]+/g, "") ? "" : owner)), shown, edit)
    return { el, shown, edit, form: null, told: null }
  }
  function all(message) {
    const keys = new Set(message.panels.map(([key]) => key))
    for (const key of [...panels.keys()]) if (!keys.has(key)) panels.delete(key)
    for (const each of message.panels) if (!panels.has(each[0])) panels.set(each[0], frame(each))
    const kids = message.panels.map(([key]) => panels.get(key).el)
    // What is being typed stays where it is.
    if (kids.length !== page.children.length || kids.some((kid, at) => kid !== page.children[at])) page.replaceChildren(...(kids.length ? kids : [h("p", { class: "quiet" }, message.book ? "No extension that is on has anything to show of this book." : "Open a book to see what extensions say of it.")]))
  }
  function panel(message) {
    const each = panels.get(message.key)
    if (!each) return
    each.shown.replaceChildren(...[message.html ? h("div", { class: "prose", html: message.html }) : null, message.columns.length ? h("div", { class: "wide scroll" }, h("table", {}, h("thead", {}, h("tr", {}, message.columns.map((name) => h("th", { scope: "col" }, name)))), h("tbody", {}, message.rows.map((row) => h("tr", {}, row.map((cell) => h("td", { class: "figure" }, stressed(String(cell))))))))) : null, message.more ? h("p", { class: "quiet" }, `and ${figure(message.more)} more`) : null].filter(Boolean))
    if (!message.fields.length) { each.form = null; each.edit.replaceChildren(); return }
    const before = each.form && JSON.stringify(each.form.values()) !== each.kept
    if (before) return // typed and not saved yet
    const now = JSON.stringify(message.fields)
    if (now === each.drawn) return
    const form = fields(message.fields), told = h("span", { class: "quiet", role: "status" }, each.told?.textContent ?? "")
    each.form = form; each.drawn = now; each.kept = JSON.stringify(form.values()); each.told = told
    each.edit.replaceChildren(form.el, h("div", { class: "line acts" }, h("button", { class: "go", type: "button", onclick: () => { form.problem(); told.textContent = "…"; each.sent = JSON.stringify(form.values()); say()("save", { key: message.key, values: form.values() }) } }, "Save"), told))
    form.el.addEventListener("input", () => { told.textContent = "" })
  }
  function saved(message) {
    const each = panels.get(message.key), bad = Object.keys(message.errors).length
    if (!each?.form) return
    each.form.problem(message.errors, message.errors[""] ?? ""); each.told.textContent = bad ? "" : "Saved."
    if (!bad) each.kept = each.sent
  }
  return { panels: all, panel, saved }
}
