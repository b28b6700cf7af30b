// The verdict on every entry. Rows that changed come alone; the list is virtual, the open entry stands above it.
const ROW = 44

export function render({ model }) {
  const all = new Map()
  let order = [], shown = [], filter = remembered("mg:lore-filter") ?? "all", wanted = "", opened = null
  const search = h("input", { type: "search", placeholder: "Search lore", "aria-label": "Search lore", oninput: () => { wanted = search.value.trim().toLowerCase(); sift() } })
  const chip = (name, label) => h("button", { class: "chip", "aria-pressed": "false", onclick: () => { filter = name; remember("mg:lore-filter", name); sift() } }, label)
  const chips = { all: chip("all", "all"), fired: chip("fired", "fired"), not: chip("not", "not") }
  const inner = h("div", { class: "inner" }), box = h("div", { class: "list scroll", tabIndex: 0, role: "listbox", "aria-label": "Lore entries" }, inner)
  const detail = h("section", { class: "detail scroll", hidden: true, "aria-label": "Lore entry" })
  const add = h("button", { class: "link", onclick: () => say("new") }, "+ Entry")
  const frame = h("div", { class: "lore" }, h("div", { class: "tools" }, search, h("div", { class: "chips", role: "group", "aria-label": "Show" }, Object.values(chips)), add), detail, box)

  const fits = (row) => (filter === "all" || (filter === "fired") === row.active) && (!wanted || (row.name + " " + row.lorebook + " " + row.reason).toLowerCase().includes(wanted))
  function sift() {
    shown = order.filter((id) => fits(all.get(id)))
    const fired = order.reduce((sum, id) => sum + (all.get(id).active ? 1 : 0), 0)
    chips.all.textContent = `all ${figure(order.length)}`; chips.fired.textContent = `fired ${figure(fired)}`; chips.not.textContent = `not ${figure(order.length - fired)}`
    for (const [name, el] of Object.entries(chips)) el.setAttribute("aria-pressed", String(name === filter))
    draw()
  }
  function draw() {
    inner.style.height = shown.length * ROW + "px"
    const from = Math.max(0, Math.floor(box.scrollTop / ROW) - 6), to = Math.min(shown.length, from + Math.ceil((box.clientHeight || 600) / ROW) + 12), out = []
    for (let at = from; at < to; at++) {
      const row = all.get(shown[at])
      const el = h("div", { class: "row" + (row.active ? " on" : "") + (row.id === opened ? " chosen" : ""), role: "option", "aria-selected": String(row.id === opened), title: `${row.lorebook}: ${row.reason}`, onclick: () => toggle(row.id) },
        h("i", { "aria-hidden": "true" }), h("span", { class: "name" }, row.name || "(no name)"), h("span", { class: "tokens figure" }, row.active ? figure(row.tokens) : ""),
        h("span", { class: "reason" }, h("span", { class: "state" }, row.active ? "in: " : "not: "), stressed(row.reason)))
      el.style.top = at * ROW + "px"; out.push(el)
    }
    inner.replaceChildren(...(shown.length ? out : [h("p", { class: "none quiet" }, order.length ? "No entry is like that." : model.empty)]))
  }
  const toggle = (id) => { if (opened === id) shut(); else { opened = id; say("open", { id }); draw() } }
  const shut = () => { opened = null; detail.hidden = true; detail.replaceChildren(); say("shut"); draw() }
  function entry(message) {
    if (message.id !== opened && message.id !== 0) return
    opened = message.id
    const gates = h("ul", { class: "gates" }, message.gates.map((gate) => h("li", { class: gate.passed ? "yes" : "no" }, h("span", {}, stressed(gate.text)))))
    if (detail.form && detail.shownId === message.id && !message.saved) { detail.querySelector(".gates")?.replaceWith(gates); return }
    const form = fields(message.fields)
    const note = h("span", { class: "quiet" }, message.saved ? "Saved." : "")
    detail.form = form; detail.shownId = message.id; detail.hidden = false
    detail.replaceChildren(h("header", {}, h("strong", {}, message.title), h("span", { class: "quiet" }, message.lorebook), h("span", { class: "gap" }), h("button", { class: "link", "aria-label": "Close entry", onclick: shut }, "✕")),
      gates, form.el, h("div", { class: "row2" }, h("button", { class: "go", onclick: () => say("save", { id: message.id, values: form.values() }) }, "Save"), note, h("span", { class: "gap" }),
        message.id ? h("button", { class: "link", onclick: () => say("delete", { id: message.id }) }, "Delete") : null))
  }
  box.addEventListener("scroll", draw, { passive: true }); new ResizeObserver(draw).observe(box)
  box.addEventListener("keydown", (event) => {
    const at = shown.indexOf(opened), to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key]
    if (to === undefined || !shown.length) { if (event.key === "Escape" && opened !== null) { event.stopPropagation(); shut() } return }
    event.preventDefault(); opened = shown[Math.max(0, Math.min(shown.length - 1, to))]; say("open", { id: opened }); draw()
    box.scrollTop = Math.max(0, shown.indexOf(opened) * ROW - box.clientHeight / 2)
  })
  const say = connect(model, {
    lore: (message) => { all.clear(); order = []; for (const row of message.rows) { all.set(row.id, row); order.push(row.id) } if (opened && !all.has(opened)) shut(); sift() },
    patch: (message) => { for (const row of message.rows) all.set(row.id, row); sift() },
    entry, closed: shut,
    problem: (message) => detail.form?.problem(message.errors, message.text),
  })
  sift()
  return frame
}
