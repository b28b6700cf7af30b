// The books in a dialog: the list with its search at the left, the chosen book at the right, files by button or by drop.
export function render({ model }) {
  const button = (label, onclick, more = {}) => h("button", { class: "link", type: "button", onclick, ...more }, label)
  const list = h("div", { class: "books scroll", role: "listbox", "aria-label": "Books" }), page = h("div", { class: "page scroll" })
  const find = h("input", { type: "text", class: "find", placeholder: "Search names and tags", "aria-label": "Search books", autocomplete: "off", oninput: () => rows() })
  const name = h("input", { type: "text", "aria-label": "Name of the new book", placeholder: "What is it called?", autocomplete: "off", required: true })
  const making = h("form", { class: "making", hidden: true, onsubmit: (event) => { event.preventDefault(); if (name.value.trim()) say("new", { name: name.value }) } }, name, h("button", { class: "go", type: "submit" }, "Create"))
  const begin = () => { making.hidden = !making.hidden; if (!making.hidden) name.focus() }
  const picker = h("input", { type: "file", multiple: true, hidden: true, "aria-label": "Stories, cards or backups", onchange: () => { take([...picker.files]); picker.value = "" } })
  const old = h("input", { type: "file", hidden: true, "aria-label": "Backup to go back to", onchange: () => { take([...old.files], "look"); old.value = "" } })
  const progress = h("div", { class: "progress", hidden: true, role: "status" }), trash = h("details", { class: "trash" })
  const side = h("div", { class: "side" }, h("div", { class: "line" }, h("button", { class: "go", type: "button", onclick: begin }, "New book"), button("Import", () => picker.click(), { title: "A story of another tool, a character card, or a backup" }), picker, old), making, find, progress, list, trash)
  const { dialog, note, trouble, wrong } = shelfDialog("Books", "books-title", side, page)
  dialog.addEventListener("dragover", (event) => { event.preventDefault(); dialog.classList.add("drop") })
  dialog.addEventListener("dragleave", (event) => { if (!dialog.contains(event.relatedTarget)) dialog.classList.remove("drop") })
  dialog.addEventListener("drop", (event) => { event.preventDefault(); dialog.classList.remove("drop"); take([...event.dataTransfer.files]) })
  let data = { rows: [], formats: [] }, chosen = 0, busy = false, pieces = [], sent = null, asked = null, job = 0, ticking = null, at = null
  const finished = (text) => { clearInterval(ticking); const place = at?.isConnected ? at : sent; if (place) place.textContent = text; at = null }
  const plural = (number, one) => `${figure(number)} ${one}${number === 1 ? "" : "s"}`

  function rows() {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean)
    const found = data.rows.filter((row) => { const text = [row.name, row.description, ...row.tags].join(" ").toLowerCase(); return words.every((word) => text.includes(word)) })
    list.replaceChildren(...found.map((row) => h("button", { class: "book", type: "button", role: "option", "aria-selected": String(row.id === chosen), onclick: () => { chosen = row.id; wrong(""); note.textContent = ""; rows(); draw() }, ondblclick: () => say("open", { id: row.id }) },
      h("span", { class: "name" }, row.name), h("span", { class: "quiet figure" }, row.id === data.opened ? "open" : row.when),
      h("span", { class: "quiet figure under" }, [plural(row.words, "word"), ...row.tags].join(" · ")))), ...(found.length ? [] : [h("p", { class: "quiet" }, data.rows.length ? "No book is called like that." : "There is no book yet. Make one, or drop files here.")]))
  }
  function shelf(message) {
    clearInterval(ticking); at = null; data = message; chosen = message.chosen ?? 0; busy = false; progress.hidden = true; wrong(""); note.textContent = message.note
    if (message.fresh) { find.value = ""; name.value = ""; making.hidden = true; dialog.querySelector(".reports")?.remove() }
    rows(); draw()
    trash.hidden = !message.trash.length
    trash.replaceChildren(h("summary", {}, `Trash (${message.trash.length})`), h("div", { class: "scroll bin" }, message.trash.map(([id, text]) => h("div", { class: "line" }, h("span", { class: "name" }, text), button("Restore", () => say("restore", { id }), { "aria-label": `Restore ${text}` })))))
    if (!dialog.open) { dialog.showModal(); find.focus() }
  }
  const section = (title, ...kids) => h("section", {}, h("h4", {}, title), ...kids)
  // What takes long: how far it is, for how long, and Stop.
  function working(place, doing, stopped) {
    const told = h("span", place === asked ? { role: "status" } : {}, doing), since = performance.now(); clearInterval(ticking); job += 1
    place.share = null
    place.tell = () => { told.textContent = `${doing} ${place.share === null ? "" : `${Math.round(100 * place.share)} %, `}${Math.round((performance.now() - since) / 1000)} s` }
    ticking = setInterval(place.tell, 1000)
    place.replaceChildren(told, " ", button("Stop", () => { job += 1; clearInterval(ticking); place.replaceChildren(stopped); say("halt") })); place.told = told; at = place
  }
  function draw() {
    const row = data.rows.find((each) => each.id === chosen)
    if (!row) { page.replaceChildren(); return }
    const id = row.id, format = h("select", { "aria-label": "Format" }, data.formats.map(([value, label]) => h("option", { value }, label)))
    const called = h("input", { type: "text", value: row.name, "aria-label": "Name of the book", autocomplete: "off" })
    sent = h("p", { class: "quiet", role: "status" }); asked = h("div", { class: "asked" })
    const fetch = (what, more = {}) => { working(sent, "writing…", "Stopped; nothing was sent."); pieces = []; say(what, { id, job, ...more }) }
    const number = (label, more) => h("label", { class: "short" }, label, h("input", { type: "text", inputMode: "numeric", autocomplete: "off", ...more }))
    const tick = (label, checked) => { const input = h("input", { type: "checkbox", checked }); return [input, h("label", { class: "check" }, input, label)] }
    const from = number("From part", { placeholder: "1" }), to = number("to", { placeholder: String(row.parts) }), author = number("Author", { inputMode: "text" })
    const [titled, titleLine] = tick("Title page", true), [listed, listLine] = tick("Table of contents", true), [broken, breakLine] = tick("A break between parts", false)
    const options = () => ({ first: from.lastChild.value, last: to.lastChild.value, author: author.lastChild.value, title_page: titled.checked, contents: listed.checked, breaks: broken.checked })
    const others = row.all_parts - row.parts
    page.replaceChildren(...[
      h("div", { class: "line" }, h("h3", {}, row.name), h("span", { class: "gap" }), row.id === data.opened ? h("span", { class: "quiet" }, "open now") : null, h("button", { class: "go", type: "button", onclick: () => row.id === data.opened ? dialog.close() : say("open", { id }) }, row.id === data.opened ? "Write on" : "Open")),
      h("p", { class: "quiet figure facts", title: row.exact }, [plural(row.words, "word"), `${plural(row.parts, "part")}${others ? `, ${figure(others)} more on other branches` : ""}`, row.when && `${row.verb} ${row.when}`].filter(Boolean).join(" · ")),
      row.tags.length ? h("div", { class: "chips" }, row.tags.map((tag) => h("span", { class: "tag" }, tag))) : null,
      section("Name", h("form", { class: "line", onsubmit: (event) => { event.preventDefault(); say("rename", { id, name: called.value }) } }, called, h("button", { class: "link", type: "submit" }, "Rename"))),
      section("To read and to print", h("div", { class: "line" }, format, button("Export", () => fetch("export", { format: format.value, options: options() }))),
        h("details", { class: "options" }, h("summary", {}, "What of it, and how"), h("div", { class: "line" }, from, to, author), h("div", { class: "line" }, titleLine, listLine, breakLine)), sent),
      section("To keep", h("div", { class: "line acts" }, button("Duplicate", () => { note.textContent = "copying…"; say("duplicate", { id }) }), button("Download backup", () => fetch("backup"), { title: "Everything of this book in one file: all branches and versions, summaries, lore" }), button("Go back to a backup", () => old.click()), h("span", { class: "gap" }), button("Delete", () => say("delete", { id }), { "aria-label": "Delete book" })), asked),
      row.description ? section("About", h("p", { class: "about" }, row.description)) : null,
    ].filter(Boolean)); page.scrollTop = 0
  }
  async function take(files, what = "import") {
    if (!files.length || busy) return
    busy = true; wrong(""); progress.hidden = false
    const id = chosen, given = await sendFiles(files, say, (text) => { progress.textContent = text })
    progress.textContent = "Reading…"; say(what, { id, files: given })
  }
  function arrived(message) {
    const box = h("div", { class: "reports", role: "group", "aria-label": "What came of the files" }, h("div", { class: "line" }, h("h3", {}, `${plural(message.rows.length, "file")} read`), h("span", { class: "gap" }), button("✕", () => box.remove(), { "aria-label": "Close the reports" })), message.rows.map((each) => h("div", { class: "report" + (each.refused ? " refused" : "") }, h("p", {}, h("b", {}, `${each.file} `), each.text))))
    dialog.querySelector(".reports")?.remove(); trouble.after(box)
  }
  function inside(message) {
    busy = false; progress.hidden = true
    if (message.id !== chosen) return
    asked.replaceChildren(...message.lines.map((line) => h("p", {}, line)), h("p", {}, "Shall it stand in the place of this book? What stands there now is kept as a backup beside the database."), h("div", { class: "line" }, h("button", { class: "go", type: "button", onclick: () => { working(asked, "replacing…", "Stopped; the book is as it was, unless that was done already."); say("replace", { id: message.id, job }) } }, "Replace the book"), button("Leave it", () => asked.replaceChildren())))
    asked.scrollIntoView({ block: "nearest" })
  }
  function download(message) {
    if (message.job !== job) return
    const link = h("a", { href: URL.createObjectURL(new Blob(pieces)), download: message.name })
    pieces = []; link.click(); setTimeout(() => URL.revokeObjectURL(link.href), 10000)
    finished(`${message.name} is in your downloads.`)
  }
  const say = connect(model, {
    shelf, arrived, inside, sent: download, close: () => dialog.close(),
    piece: (message) => { if (message.job !== job) return; pieces.push(Uint8Array.from(atob(message.data), (each) => each.charCodeAt(0))); clearInterval(ticking); if (at?.told) at.told.textContent = `sending… ${Math.round(100 * message.share)} %` },
    share: (message) => { if (message.job !== job || !at) return; at.share = message.share; at.tell() },
    progress: (message) => { progress.hidden = false; progress.replaceChildren(message.text, message.more ? button("Stop after this one", () => { say("enough"); progress.textContent = message.text }) : "") },
    trouble: (message) => { busy = false; progress.hidden = true; note.textContent = ""; wrong(message.text); finished("") },
  })
  return dialog
}
