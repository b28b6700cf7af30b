// The verdict on every entry, to sift and to search.
export function render({ model }) {
  const list = h("div", { class: "verdicts scroll", role: "list", "aria-label": "Lore entries", tabIndex: 0 }), names = { all: "all", in: "fired", nearly: "nearly", out: "out" }
  let filter = "all", wanted = ""
  const draw = () => {
    const rows = model.rows.filter((row) => (filter === "all" || row.state === filter) && (!wanted || (row.name + " " + row.lorebook + " " + row.reason).toLowerCase().includes(wanted)))
    list.replaceChildren(...rows.slice(0, 500).map((row) => h("div", { class: `row ${row.state}`, role: "listitem", title: `${row.lorebook} · ${figure(row.tokens)} tokens\n${row.reason}` }, h("i", { "aria-hidden": "true" }),
      h("span", { class: "name" }, row.name || "(no name)"), h("span", { class: "tokens figure" }, row.state === "in" ? figure(row.tokens) : ""),
      h("span", { class: "reason" }, h("span", { class: "state" }, { in: "in: ", nearly: "nearly: ", out: "not: " }[row.state]), stressed(row.reason)))))
    if (!rows.length) list.append(h("p", { class: "none quiet" }, "No entry is like that."))
    for (const chip of chips.children) chip.setAttribute("aria-pressed", String(chip.dataset.name === filter))
  }
  const chips = h("div", { class: "chips", role: "group", "aria-label": "Show" }, Object.entries(names).map(([name, label]) => {
    const chip = h("button", { class: "chip", type: "button", onclick: () => { filter = name; draw() } }, `${label} ${figure(name === "all" ? model.rows.length : model.rows.filter((row) => row.state === name).length)}`)
    chip.dataset.name = name
    return chip
  }))
  const search = h("input", { type: "search", placeholder: "Search lore", "aria-label": "Search lore", oninput: () => { wanted = search.value.trim().toLowerCase(); draw() } })
  search.addEventListener("keydown", (event) => event.stopPropagation())
  draw()
  return h("div", { class: "lore still" }, h("div", { class: "tools" }, search, chips), list)
}
