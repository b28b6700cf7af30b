// The prompts in a dialog: the texts and the names they may use at the left, the chosen text with its lint, the preview.
const CARET = "\u2038"
const GROUPS = { variable: "Variables", block: "Blocks", macro: "Macros" }

export function render({ model }) {
  const button = (label, onclick, more = {}) => h("button", { class: "link", type: "button", onclick, ...more }, label)
  const list = h("div", { class: "books texts", role: "listbox", "aria-label": "Prompts" })
  const find = h("input", { type: "text", class: "find", placeholder: "Search names and meanings", "aria-label": "Search names", autocomplete: "off", oninput: () => offer() })
  const offered = h("div", { class: "offered scroll", role: "listbox", "aria-label": "Names" })
  const names = h("details", { class: "names" }, h("summary", {}, "What may stand in it"), find, offered)
  const title = h("h3", {}), from = h("span", { class: "tag" }), doc = h("p", { class: "quiet doc" })
  const syntax = h("select", { "aria-label": "Syntax", title: "Macros: {{name}} and sections. Jinja: Jinja2 in a sandbox.", onchange: () => typed() }, h("option", { value: "macros" }, "Macros"), h("option", { value: "jinja" }, "Jinja"))
  const editor = h("textarea", { class: "editor", spellcheck: false, autocomplete: "off", "aria-describedby": "lint", oninput: () => typed() })
  const lint = h("div", { class: "lint scroll", id: "lint", "aria-live": "polite" }), facts = h("dl", { class: "facts" })
  const keep = h("button", { class: "go", type: "button", onclick: () => save("book"), title: "Ctrl+S" }, "Save to this book")
  const all = button("Save for all my books", () => save("all"))
  const back = button("", () => say("default", { name: chosen }))
  const drop = button("Drop what I typed", () => { put(row()); typed() })
  const undo = button("Take it back", () => { const each = undone; undone = null; undo.hidden = true; if (!each) return; choose(each.name); put(each); typed() }, { hidden: true })
  const acts = h("div", { class: "acts" }, keep, all, back, drop, undo)
  const shown = h("div", { class: "shown scroll", tabIndex: 0, role: "region", "aria-label": "Preview" }), figures = h("span", { class: "quiet figure", role: "status" })
  const remark = h("p", { class: "quiet remark" })
  const edit = h("div", { class: "edit" }, h("div", { class: "line" }, title, from, h("span", { class: "gap" }), syntax), doc, editor, lint, facts, acts)
  const seen = h("div", { class: "seen" }, h("div", { class: "line" }, h("h4", {}, "What it comes to now"), h("span", { class: "gap" }), figures), remark, shown)
  const { dialog, note, wrong } = shelfDialog("Prompts", "prompts-title", h("div", { class: "side" }, list, names), h("div", { class: "page" }, edit, seen))
  let rows = [], offers = {}, chosen = "user_prompt", key = null, drafts = {}, at = 0, timer = null, undone = null, last = 0

  const row = (name = chosen) => rows.find((each) => each.name === name)
  const put = (each) => { editor.value = each.text; syntax.value = each.syntax }
  const same = (one, other) => one.text === other.text && one.syntax === other.syntax
  // A draft that says what is saved is none.
  function store() {
    for (const [name, draft] of Object.entries(drafts)) if (!row(name) || same(draft, row(name))) delete drafts[name]
    remember(key, Object.keys(drafts).length ? drafts : null)
  }
  function typed() {
    drafts[chosen] = { text: editor.value, syntax: syntax.value }; store(); marks(); wrong("")
    clearTimeout(timer); timer = setTimeout(ask, performance.now() - last > 600 ? 0 : 120)
  }
  function ask() {
    last = performance.now(); figures.textContent = "…"; seen.classList.add("old")
    say("typed", { name: chosen, at: ++at, text: editor.value, syntax: syntax.value, changes: drafts })
  }
  function save(where) { note.textContent = "saving…"; wrong(""); say("keep", { name: chosen, text: editor.value, syntax: syntax.value, where }) }
  function marks() {
    const each = row(), open = Boolean(drafts[chosen])
    from.textContent = open ? `${each.from}, changed` : each.from
    drop.hidden = !open; keep.disabled = !open; all.disabled = !open && each.origin !== "book"
    back.hidden = each.origin === "built in"; back.textContent = `Back to what is ${each.below}`
    for (const one of list.children) one.querySelector(".under").textContent = drafts[one.dataset.name] ? "not saved yet" : row(one.dataset.name).from
  }
  function draw() {
    list.replaceChildren(...rows.map((each) => { const one = h("button", { class: "book", type: "button", role: "option", "aria-selected": String(each.name === chosen), onclick: () => choose(each.name) }, h("span", { class: "name" }, each.label), h("span", { class: "quiet under" })); one.dataset.name = each.name; return one }))
  }
  function choose(name) {
    chosen = name; const each = row()
    for (const one of list.children) one.setAttribute("aria-selected", String(one.dataset.name === name))
    title.textContent = each.label; doc.textContent = each.doc; editor.setAttribute("aria-label", each.label)
    edit.classList.toggle("plain", !each.template); syntax.hidden = !each.template; names.hidden = !each.template
    lint.replaceChildren(); facts.replaceChildren(); remark.textContent = ""; shown.replaceChildren()
    put(drafts[name] ?? each); marks(); offer(); clearTimeout(timer); ask()
  }
  function sheet(message) {
    const other = message.key !== key, before = row()
    rows = message.rows; offers = message.names; wrong("")
    if (message.note || message.fresh) note.textContent = message.note
    if (other) { key = message.key; drafts = remembered(key) ?? {} }
    store()
    undone = message.before ?? (message.fresh || other ? null : undone); undo.hidden = !undone
    draw()
    // Another window saved: what is typed here stays, everything else follows.
    const moved = !before || !same(before, row())
    if (message.fresh || other || message.note || (moved && !drafts[chosen])) { const kept = editor.selectionStart; choose(row() ? chosen : rows[0].name); editor.setSelectionRange(kept, kept) } else marks()
    if (message.fresh && Object.keys(drafts).length) note.textContent = "What you typed and did not save is here again."
    if (!dialog.open) { names.open = window.matchMedia("(min-width: 901px)").matches; dialog.showModal(); editor.focus() }
  }

  // What may stand in the text.
  const insert = (each) => {
    const text = syntax.value === "jinja" ? each.jinja : each.insert, to = text.indexOf(CARET), plain = text.replace(CARET, "")
    editor.focus()
    const from = editor.selectionStart
    if (!document.execCommand("insertText", false, plain)) { editor.setRangeText(plain, from, editor.selectionEnd, "end"); typed() }
    if (to >= 0) editor.setSelectionRange(from + to, from + to)
  }
  const matching = () => { const words = find.value.toLowerCase().split(/\s+/).filter(Boolean); return [...(offers[chosen] ?? []), ...(offers[""] ?? [])].filter((each) => words.every((word) => `${each.name} ${each.meaning}`.toLowerCase().includes(word))) }
  function offer() {
    const kids = []
    let group = null
    for (const each of matching()) {
      if (each.group !== group) { group = each.group; kids.push(h("h4", { role: "presentation" }, GROUPS[group])) }
      kids.push(h("button", { class: "offer", type: "button", role: "option", onclick: () => insert(each) }, h("code", {}, each.name), h("small", { class: "quiet" }, each.meaning)))
    }
    offered.replaceChildren(...(kids.length ? kids : [h("p", { class: "quiet", role: "option", "aria-disabled": "true" }, "Nothing is called like that.")]))
  }
  names.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target === find) { event.preventDefault(); const first = matching()[0]; if (first) insert(first) }
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return
    const every = [find, ...offered.querySelectorAll("button")], now = every.indexOf(event.target)
    if (now >= 0) { event.preventDefault(); every[Math.max(0, Math.min(every.length - 1, now + (event.key === "ArrowDown" ? 1 : -1)))].focus() }
  })

  // Columns are counted in characters; the browser counts in halves of some of them.
  function go(line, column) {
    const lines = editor.value.split("\n"), before = lines.slice(0, line - 1).reduce((sum, each) => sum + each.length + 1, 0)
    const inside = [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length, from = before + inside
    editor.blur(); editor.setSelectionRange(from, Math.min(editor.value.length, from + 1)); editor.focus()
  }
  function linted(message) {
    if (message.name !== chosen || message.at !== at) return
    lint.replaceChildren(...message.rows.map((each) => h("button", { class: "fault" + (each.bad ? " bad" : ""), type: "button", onclick: () => go(each.line, each.column) }, h("span", { class: "figure where" }, `Line ${each.line}, column ${each.column}`), h("span", {}, each.text))))
    editor.setAttribute("aria-invalid", String(!message.valid))
    facts.replaceChildren(...message.facts.map(([label, text]) => h("div", {}, h("dt", {}, label), h("dd", {}, text))))
  }
  function preview(message) {
    if (message.name !== chosen || message.at !== at) return
    figures.textContent = message.figures
    remark.textContent = [message.note, message.problem].filter(Boolean).join(" "); remark.classList.toggle("bad", Boolean(message.problem))
    if (message.pieces === null) return // the last good text stays, greyed
    seen.classList.remove("old")
    const top = shown.scrollTop
    shown.replaceChildren(...message.pieces.map(([text, name]) => name ? h("mark", { title: name }, text) : text), ...(message.more ? [h("p", { class: "quiet" }, `… and ${figure(message.more)} characters more.`)] : []))
    shown.scrollTop = top
  }
  editor.addEventListener("keydown", (event) => { if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") { event.preventDefault(); save("book") } })
  dialog.addEventListener("close", () => { clearTimeout(timer); say("closed") })

  const say = connect(model, {
    sheet, lint: linted, preview, close: () => dialog.close(),
    kept: (message) => { const draft = drafts[message.name]; if (draft && same(draft, message)) { delete drafts[message.name]; remember(key, Object.keys(drafts).length ? drafts : null) } },
    trouble: (message) => { note.textContent = ""; figures.textContent = ""; wrong(message.text) },
  })
  return dialog
}
