// The verdict on every entry. Rows that changed come alone; the list is virtual, the open entry stands beside or above it.
const ROW = 44
const STATES = { in: "in: ", nearly: "nearly: ", out: "not: " }
const SOURCES = [["next", "the next request"], ["end", "the end of the story"], ["part", "the text of part"], ["asked", "what was asked for at part"], ["pasted", "a text I paste"]]

export function render({ model }) {
  const all = new Map(), picked = new Set()
  let order = [], shown = [], filter = remembered("mg:lore-filter") ?? "all", wanted = "", opened = null, counts = {}, parts = 0, picking = false, texts = [], folders = [], within = null
  const button = (label, title, onclick, more = {}) => h("button", { class: "link", type: "button", title, onclick, ...more }, label)

  // What is shown of the list.
  const search = h("input", { type: "search", placeholder: "Search lore", "aria-label": "Search lore", oninput: () => { wanted = search.value.trim().toLowerCase(); sift() } })
  const chip = (name) => h("button", { class: "chip", type: "button", "aria-pressed": "false", onclick: () => { filter = name; remember("mg:lore-filter", name); sift() } })
  const chips = { all: chip("all"), fired: chip("fired"), nearly: chip("nearly"), never: chip("never") }
  const inner = h("div", { class: "inner" }), box = h("div", { class: "list scroll", tabIndex: 0, role: "listbox", "aria-label": "Lore entries" }, inner)
  const detail = h("section", { class: "detail scroll", hidden: true, "aria-label": "Lore entry" })
  const folder = h("select", { "aria-label": "Folder", title: "Only the entries of one lorebook and of those below it", hidden: true, onchange: () => { within = folders.find((each) => String(each.id) === folder.value) ?? null; sift() } })
  const large = button("⤢", "Spread over the page", () => spread(!frame.classList.contains("large")), { "aria-label": "Large", "aria-pressed": "false" })
  const select = button("Select", "Choose several entries", () => { picking = !picking; picked.clear(); bulk(); draw() })
  const bar = h("div", { class: "bulk", hidden: true, role: "group", "aria-label": "The chosen entries" }), did = h("p", { class: "did", role: "status", hidden: true })
  const away = h("p", { class: "away", hidden: true })

  // What is scanned.
  const source = h("select", { "aria-label": "Scanned", title: "What entries are looked for in", onchange: () => ask() }, SOURCES.map(([value, label]) => h("option", { value }, label)))
  const number = h("input", { type: "number", min: 1, "aria-label": "Part", class: "figure", oninput: () => ask() })
  const pasted = h("textarea", { rows: 4, "aria-label": "Pasted text", placeholder: "Paste a passage here", oninput: () => ask() })
  const read = h("div", { class: "read scroll", role: "region", "aria-label": "Scanned text", tabIndex: 0 })
  const fold = button("text", "Show what is scanned, with the words that call entries marked", () => { const open = read.hidden; read.hidden = !open; fold.setAttribute("aria-expanded", String(open)); remember("mg:lore-text", open); reading() }, { "aria-label": "Scanned text" })
  read.hidden = !(remembered("mg:lore-text") ?? true); fold.setAttribute("aria-expanded", String(!read.hidden))
  const scan = h("div", { class: "scan" }, h("div", { class: "line" }, h("span", { class: "quiet" }, "looks at"), source, number, h("span", { class: "gap" }), fold), pasted, read)
  let asking = null
  const sources = () => { number.hidden = !["part", "asked"].includes(source.value); number.max = model.parts; if (!number.hidden && !number.value) number.value = Math.max(1, model.parts); pasted.hidden = source.value !== "pasted" }
  const ask = () => { sources(); clearTimeout(asking); asking = setTimeout(() => say("source", { kind: source.value, number: Number(number.value) || 0, text: pasted.value }), 60) }

  // The replay.
  const mapText = h("span", { class: "quiet", role: "status" }), cancel = button("Cancel", "Stop the replay", () => say("cancel"))
  const mapFold = button("Replay", "What lore would have done at every part of the story", () => unfold(mapBox.hidden), { "aria-expanded": "false", "aria-label": "Replay" })
  const mapBox = h("div", { class: "map scroll", hidden: true, role: "region", "aria-label": "Replay map" }, model.get_child("map"))
  const unfold = (on) => { mapBox.hidden = !on; mapFold.setAttribute("aria-expanded", String(on)); say("map", { on }); mapped() }
  const mapped = () => { mapText.textContent = mapBox.hidden ? "" : model.mapping ? `reading the story… ${model.share}` : model.map_text; cancel.hidden = mapBox.hidden || !model.mapping }

  const frame = h("div", { class: "lore" },
    away, h("div", { class: "tools" }, search, button("+ Entry", "A new entry", () => say("new")), button("Lorebooks", "All lorebooks: import, export, nest, restore", () => say("shelves")), large),
    h("div", { class: "sift" }, h("div", { class: "chips", role: "group", "aria-label": "Show" }, Object.values(chips)), h("div", { class: "line" }, folder, h("span", { class: "gap" }), select)), bar, did, scan, detail, box,
    h("div", { class: "replay" }, h("div", { class: "line" }, mapFold, mapText, h("span", { class: "gap" }), cancel), mapBox))
  frame.addEventListener("keydown", (event) => { if (event.key === "Escape" && frame.classList.contains("large")) { event.stopPropagation(); spread(false) } })
  // As a popover it stands over everything without leaving its place, so nothing in it is built anew.
  function spread(on) {
    if (on) { frame.classList.add("large"); frame.popover = "manual"; frame.showPopover() }
    else if (frame.popover) { frame.hidePopover(); frame.popover = null; frame.classList.remove("large") }
    if (!on && model.spread) say("small")
    large.setAttribute("aria-pressed", String(on)); large.title = on ? "Back beside the story (Esc)" : "Spread over the page"; draw()
  }

  // Another lorebook than the book's own: said above everything, with the way back.
  function elsewhere() {
    away.hidden = !model.world
    if (model.world) away.replaceChildren(h("span", {}, "Trying out ", h("b", {}, model.world), " with this book's request and story."), button("Back to this book's lore", "Show what this book uses", () => { spread(false); say("home") }))
    if (model.spread && !frame.classList.contains("large")) spread(true)
  }
  function shelves(given) {
    folders = given; within = folders.find((each) => each.id === within?.id) ?? null; folder.hidden = folders.length < 2
    folder.replaceChildren(h("option", { value: "" }, "all lorebooks"), ...folders.map((each) => h("option", { value: String(each.id), selected: each === within }, "\u2007".repeat(2 * each.depth) + each.name)))
  }

  const fits = (row) => (filter === "all" || (filter === "fired" ? row.state === "in" : filter === "nearly" ? row.state === "nearly" : row.state !== "in" && !counts[row.id]?.[0]))
    && (!within || within.with.includes(row.home)) && (!wanted || (row.name + " " + row.lorebook + " " + row.reason).toLowerCase().includes(wanted))
  function sift() {
    const sums = { fired: 0, nearly: 0, never: 0 }
    let tokens = 0
    for (const id of order) { const row = all.get(id); if (row.state === "in") { sums.fired++; tokens += row.tokens } else { if (row.state === "nearly") sums.nearly++; if (!counts[id]?.[0]) sums.never++ } }
    shown = order.filter((id) => fits(all.get(id)))
    chips.all.textContent = `all ${figure(order.length)}`
    for (const name of ["fired", "nearly", "never"]) chips[name].textContent = `${name} ${figure(sums[name])}`
    chips.fired.title = `${figure(tokens)} tokens in all`; chips.never.title = parts ? `Neither now nor at one of the ${figure(parts)} parts` : "Not now; the replay says whether ever"
    for (const [name, el] of Object.entries(chips)) el.setAttribute("aria-pressed", String(name === filter))
    draw()
  }
  function line(row, at) {
    const on = picking ? picked.has(row.id) : row.id === opened, count = counts[row.id]
    const facts = [`order ${row.order}`, row.place, `${figure(row.tokens)} tokens`, count ? (count[0] ? `in at ${figure(count[0])} of ${figure(parts)}, last #${count[1]}` : `never in ${figure(parts)} parts`) : ""].filter(Boolean).join(" · ")
    const el = h("div", { class: `row ${row.state}` + (on ? " chosen" : "") + (row.on ? "" : " off"), role: "option", "aria-selected": String(on), title: `${row.lorebook} · ${facts}\n${row.reason}`, onclick: () => toggle(row.id) },
      h("i", { "aria-hidden": "true" }), h("span", { class: "name" }, row.name || "(no name)"), h("span", { class: "meta" }, facts), h("span", { class: "tokens figure" }, row.state === "in" ? figure(row.tokens) : count?.[0] ? `${figure(count[0])}×` : ""),
      h("span", { class: "reason" }, h("span", { class: "state" }, STATES[row.state]), stressed(row.reason)))
    el.style.top = at * ROW + "px"
    return el
  }
  function draw() {
    inner.style.height = shown.length * ROW + "px"
    const from = Math.max(0, Math.floor(box.scrollTop / ROW) - 6), to = Math.min(shown.length, from + Math.ceil((box.clientHeight || 600) / ROW) + 12), out = []
    for (let at = from; at < to; at++) out.push(line(all.get(shown[at]), at))
    inner.replaceChildren(...(shown.length ? out : [h("p", { class: "none quiet" }, order.length ? "No entry is like that." : model.empty)]))
  }
  function bulk() {
    select.textContent = picking ? "Done" : "Select"; bar.hidden = !picking
    if (!picking) return
    const many = (what, value = "") => { if (picked.size) say("many", { what, value, ids: [...picked] }); if (what === "delete") { picked.clear(); bulk() } }
    const tag = h("input", { type: "text", "aria-label": "Tag for the chosen entries", placeholder: "tag, or -tag", title: "Give them a tag; with a minus before it, take it away", onkeydown: (event) => { if (event.key === "Enter") { many("tag", tag.value); tag.value = "" } } })
    const move = h("select", { "aria-label": "Move to", onchange: () => { if (move.value === "new") { made.hidden = false; made.focus() } else many("move", move.value); move.value = "" } }, h("option", { value: "" }, "move to…"), h("option", { value: "new" }, "a new folder…"), model.lorebooks.map(([id, name]) => h("option", { value: String(id) }, name)))
    const made = h("input", { type: "text", hidden: true, "aria-label": "Name of the new folder", placeholder: "folder, then Enter", onkeydown: (event) => { if (event.key === "Enter" && made.value.trim()) { many("folder", made.value); made.value = ""; made.hidden = true } } })
    bar.replaceChildren(h("span", { class: "figure" }, `${figure(picked.size)} chosen`), button("all shown", "Choose all that are shown", () => { for (const id of shown) picked.add(id); bulk(); draw() }), button("on", "Switch them on", () => many("on")), button("off", "Switch them off", () => many("off")), tag, move, made, button("delete", "Into the trash", () => many("delete")))
  }
  const toggle = (id) => {
    if (picking) { picked.has(id) ? picked.delete(id) : picked.add(id); bulk(); draw() }
    else if (opened === id) shut(); else { opened = id; say("open", { id }); draw() }
  }
  const shut = () => { opened = null; detail.hidden = true; detail.form = null; detail.replaceChildren(); frame.classList.remove("open"); say("shut"); draw() }

  // The open entry.
  let drafting = null
  function entry(message) {
    if (message.id !== opened && message.id !== 0) return
    opened = message.id
    const form = fields(message.fields), more = fields(message.more), keys = keychips(message.keys, model.roles, () => later())
    const values = () => ({ id: message.id, values: { ...form.values(), ...more.values() }, keys: keys.values() })
    const changed = h("span", { class: "quiet", role: "status" }), verdict = h("div", { class: "verdict", "aria-live": "polite" })
    const later = () => { changed.textContent = "tried out, not saved"; clearTimeout(drafting); drafting = setTimeout(() => say("draft", values()), 60) }
    for (const each of [form, more]) for (const kind of ["input", "change"]) each.el.addEventListener(kind, later)
    form.el.querySelector("[name=filter_text]")?.closest("label").after(keys.el)
    const folded = h("details", { class: "more" }, h("summary", {}, "More"), more.el)
    detail.form = form; detail.more = more; detail.keys = keys; detail.verdict = verdict; detail.hidden = false; frame.classList.add("open")
    detail.replaceChildren(h("header", {}, h("strong", {}, message.title), h("span", { class: "quiet" }, message.lorebook), h("span", { class: "gap" }), button("✕", "Close", shut, { "aria-label": "Close entry" })),
      verdict, form.el, folded, h("div", { class: "row2" }, h("button", { class: "go", type: "button", onclick: () => { clearTimeout(drafting); say("save", values()) } }, "Save"), changed, h("span", { class: "gap" }),
        message.id ? button("Delete", "Into the trash", () => { clearTimeout(drafting); say("delete", { id: message.id }) }) : null))
    detail.scrollTop = 0
  }
  function verdict(message) {
    if (!detail.form || message.id !== opened) return
    // What fails is said; what holds stands folded below it, as it was left.
    const held = message.gates.filter((gate) => gate.passed), failed = message.gates.filter((gate) => !gate.passed)
    const gate = (each) => h("li", { class: each.passed ? "yes" : "no" }, h("span", {}, stressed(each.text)))
    const folded = h("details", { open: detail.verdict.querySelector("details")?.open ?? frame.classList.contains("large") }, h("summary", {}, `${held.length} condition${held.length === 1 ? " holds" : "s hold"}`), h("ul", { class: "gates" }, held.map(gate)))
    detail.verdict.className = `verdict ${message.state}`
    detail.verdict.replaceChildren(h("p", {}, h("i", { "aria-hidden": "true" }), h("span", { class: "state" }, STATES[message.state] ?? ""), h("span", {}, stressed(message.reason))),
      ...(failed.length ? [h("ul", { class: "gates" }, failed.map(gate))] : []), ...(held.length ? [folded] : []))
    detail.form.problem(message.problems.filter ? { filter_text: message.problems.filter } : {}); detail.keys.problem(message.problems.keys)
  }
  function reading() {
    if (read.hidden) return
    const kids = texts.filter((each) => each.pieces.length && each.pieces.some(([text]) => text)).map((each) => {
      const p = h("p", {}, each.pieces.map(([text, names, mine]) => names ? h("mark", { class: mine ? "mine" : "", title: `calls ${names}` }, text) : text))
      return [h("h4", {}, each.name), p]
    })
    read.replaceChildren(h("div", {}, kids.length ? kids.flat() : h("p", { class: "quiet" }, "There is nothing to look at yet. Write an instruction below the story, or paste a text here.")))
    const mine = read.querySelector("mark.mine"); if (mine && opened) read.scrollTop = Math.max(0, mine.offsetTop - read.offsetTop - 40)
  }

  box.addEventListener("scroll", draw, { passive: true }); new ResizeObserver(draw).observe(box)
  box.addEventListener("keydown", (event) => {
    const at = shown.indexOf(opened), to = { ArrowDown: at + 1, ArrowUp: at - 1 }[event.key]
    if (to === undefined || !shown.length) { if (event.key === "Escape" && opened !== null) { event.stopPropagation(); shut() } return }
    event.preventDefault(); opened = shown[Math.max(0, Math.min(shown.length - 1, to))]; say("open", { id: opened }); draw()
    box.scrollTop = Math.max(0, shown.indexOf(opened) * ROW - box.clientHeight / 2)
  })
  const say = connect(model, {
    lore: (message) => { all.clear(); order = []; for (const row of JSON.parse(message.rows)) { all.set(row.id, row); order.push(row.id) } for (const id of picked) if (!all.has(id)) picked.delete(id); bulk(); sift(); if (opened && !all.has(opened)) shut() },
    patch: (message) => { for (const row of JSON.parse(message.rows)) all.set(row.id, row); sift() },
    scanned: (message) => { texts = message.texts; reading() },
    counts: (message) => { counts = Object.fromEntries(JSON.parse(message.counts).map(([id, ...count]) => [id, count])); parts = message.parts; sift() },
    source: (message) => { source.value = message.scanned; number.value = message.number || ""; sources() },
    went: (message) => { spread(false); opened = message.id; source.value = "asked"; number.value = message.number; sources(); draw() },
    did: (message) => { did.hidden = false; did.replaceChildren(h("span", {}, message.text), message.undo ? button("Undo", "Take it back", () => say("undo"), { "aria-label": "Undo the change of entries" }) : "", h("span", { class: "gap" }), button("✕", "Close", () => { did.hidden = true }, { "aria-label": "Close the message" })) },
    folders: (message) => { shelves(message.folders); sift() },
    entry, verdict, closed: shut,
    problem: (message) => { const own = Object.keys(message.errors).length; if (own) { detail.form?.problem(message.errors, message.text); detail.more?.problem(message.errors) } },
  })
  model.on(["world", "spread"], elsewhere); model.on("lorebooks", () => { if (picking) bulk() })
  model.on(["mapping", "map_text", "share"], mapped); model.on("parts", sources)
  sources(); mapped(); sift(); requestAnimationFrame(elsewhere)
  return frame
}
