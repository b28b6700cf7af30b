// Models, or protocols, in a dialog: a plain list with search at the left, the chosen one at the right.
export function render({ model }) {
  const button = (label, onclick, more = {}) => h("button", { class: "link", type: "button", onclick, ...more }, label)
  const list = h("div", { class: "books scroll", role: "listbox" }), page = h("div", { class: "page scroll" })
  const find = h("input", { type: "text", class: "find", placeholder: "Search", autocomplete: "off", oninput: () => rows() })
  const create = h("button", { class: "go", type: "button", onclick: () => say("new") }), trash = h("details", { class: "trash" })
  const { dialog, note, wrong } = shelfDialog("", "records-title", h("div", { class: "side" }, h("div", { class: "line" }, create), find, list, trash), page)
  dialog.addEventListener("close", () => say("closed"))
  let data = { rows: [], trash: [] }, chosen = 0

  function rows() {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean)
    const found = data.rows.filter((row) => { const text = [row.name, row.facts].join(" ").toLowerCase(); return words.every((word) => text.includes(word)) })
    list.replaceChildren(...found.map((row) => h("button", { class: "book", type: "button", role: "option", "aria-selected": String(row.id === chosen), onclick: () => { chosen = row.id; wrong(""); note.textContent = ""; rows(); draw() }, ondblclick: () => say("edit", { id: row.id }) },
      h("span", { class: "name" }, row.name), row.used ? h("span", { class: "quiet" }, "this book") : null, h("span", { class: "under quiet" }, row.facts))))
    if (!found.length) list.replaceChildren(h("p", { class: "none quiet", role: "option", "aria-selected": "false" }, data.rows.length ? "Nothing here has these words." : data.none))
  }
  function draw() {
    const row = data.rows.find((each) => each.id === chosen)
    if (!row) { page.replaceChildren(h("p", { class: "quiet" }, data.none)); return }
    const id = row.id
    page.replaceChildren(
      h("div", { class: "line" }, h("h3", {}, row.name), h("span", { class: "gap" }), row.used ? h("span", { class: "quiet" }, "used by this book") : data.book ? button("Use for this book", () => say("use", { id })) : null),
      h("p", { class: "about" }, data.about),
      h("dl", { class: "figures" }, row.figures.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", { class: "figure" }, value)))),
      h("p", { class: "quiet" }, row.users),
      h("div", { class: "line acts" }, h("button", { class: "go", type: "button", onclick: () => say("edit", { id }) }, "Edit"), row.fixed ? null : button("Duplicate", () => say("duplicate", { id })), h("span", { class: "gap" }), button("Delete", () => say("delete", { id }), { "aria-label": `Delete ${row.name}` })))
    page.scrollTop = 0
  }
  function shelf(message) {
    data = message; chosen = message.chosen ?? 0
    wrong(""); note.replaceChildren(message.note, ...(message.undo ? [" ", button("Take it back", () => say("restore", { id: message.undo }))] : []))
    dialog.querySelector("h2").textContent = message.title; create.textContent = message.create
    list.setAttribute("aria-label", message.title); find.setAttribute("aria-label", `Search ${message.title.toLowerCase()}`)
    if (message.fresh) find.value = ""
    trash.hidden = !message.trash.length
    trash.replaceChildren(h("summary", {}, `Trash (${message.trash.length})`), ...message.trash.map(([id, name]) => h("div", { class: "line" }, h("span", { class: "name" }, name), button("Restore", () => say("restore", { id }), { "aria-label": `Restore ${name}` }))))
    rows(); draw()
    if (message.fresh && !dialog.open) { dialog.showModal(); list.querySelector("[aria-selected=true]")?.focus() }
  }
  const say = connect(model, { shelf, close: () => dialog.close(), trouble: (message) => wrong(message.text) })
  return dialog
}
