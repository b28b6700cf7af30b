// The lorebooks in a dialog: the list at the left, the open one at the right, files by button or by drop.

export function render({ model }) {
  const button = (label, onclick, more = {}) => h("button", { class: "link", type: "button", onclick, ...more }, label)
  const list = h("div", { class: "books scroll", role: "listbox", "aria-label": "Lorebooks" }), page = h("div", { class: "page scroll" })
  const picker = h("input", { type: "file", multiple: true, hidden: true, "aria-label": "Files to import", onchange: () => { take(picker.files); picker.value = "" } })
  const progress = h("div", { class: "progress", hidden: true, role: "status" })
  const trash = h("details", { class: "trash" }), side = h("div", { class: "side" }, h("div", { class: "line" }, h("button", { class: "go", type: "button", onclick: () => say("new") }, "New lorebook"), button("Import files", () => picker.click()), picker), progress, list, trash)
  const { dialog, note, trouble, wrong } = shelfDialog("Lorebooks", "shelf-title", side, page)
  dialog.addEventListener("dragover", (event) => { event.preventDefault(); dialog.classList.add("drop") })
  dialog.addEventListener("dragleave", (event) => { if (!dialog.contains(event.relatedTarget)) dialog.classList.remove("drop") })
  dialog.addEventListener("drop", (event) => { event.preventDefault(); dialog.classList.remove("drop"); take(event.dataTransfer.files) })
  let opened = null, form = null, sending = 0

  const plural = (number, one) => `${figure(number)} ${one}${number === 1 ? "" : "s"}`
  function shelf(message) {
    wrong(""); note.textContent = message.note
    list.replaceChildren(...message.rows.map((row) => {
      const el = h("button", { class: "book" + (row.enabled ? "" : " off"), type: "button", role: "option", "aria-selected": String(row.id === message.page?.id), onclick: () => say("open", { id: row.id }) },
        h("span", { class: "name" }, row.name), row.used ? h("span", { class: "quiet" }, "this book") : null, h("span", { class: "quiet figure" }, figure(row.entries)))
      el.style.paddingLeft = 10 + row.depth * 16 + "px"
      return el
    }), ...(message.rows.length ? [] : [h("p", { class: "quiet" }, "There is no lorebook yet. Make one, or drop files here.")]))
    trash.hidden = !message.trash.length
    trash.replaceChildren(h("summary", {}, `Trash (${message.trash.length})`), ...message.trash.map(([id, name]) => h("div", { class: "line" }, h("span", { class: "name" }, name), button("Restore", () => say("restore", { id }), { "aria-label": `Restore ${name}` }))))
    message.page ? draw(message.page, message.focus) : page.replaceChildren()
    if (!dialog.open) dialog.showModal()
  }
  function draw(data, focus) {
    const same = opened === data.id
    opened = data.id; form = fields(data.fields)
    const id = data.id, at = same ? page.scrollTop : 0
    const below = h("select", { "aria-label": "Put a lorebook below this one", onchange: () => { if (below.value) say("nest", { id, below: Number(below.value) }) } }, h("option", { value: "" }, "put one below…"), data.others.map(([each, name]) => h("option", { value: String(each) }, name)))
    const format = h("select", { "aria-label": "Format" }, data.formats.map(([value, label]) => h("option", { value }, label)))
    const sent = h("div", { class: "sent" })
    page.replaceChildren(...[
      h("div", { class: "line" }, h("h3", {}, data.name), h("span", { class: "quiet figure" }, data.facts), h("span", { class: "gap" }), button("Explore", () => { dialog.close(); say("explore", { id }) }, { title: "See what its entries do with this book's request and story, or with any text" }), data.used ? h("span", { class: "quiet" }, "used by this book") : button("Use for this book", () => say("use", { id }))),
      form.el, h("div", { class: "line acts" }, h("button", { class: "go", type: "button", onclick: () => { form.problem(); say("save", { id, values: form.values() }) } }, "Save"), h("span", { class: "gap" }), button("Delete", () => say("delete", { id }), { "aria-label": "Delete lorebook" })),
      section("Below it", h("div", { class: "chips" }, data.below.map(([each, name]) => h("span", { class: "chip" }, h("button", { type: "button", onclick: () => say("open", { id: each }) }, name), h("button", { type: "button", "aria-label": `Take out ${name}`, onclick: () => say("unnest", { id, below: each }) }, "×"))), data.others.length ? below : null)),
      section("Export", h("div", { class: "line" }, format, button("Export", () => { sent.textContent = "writing…"; say("export", { id, format: format.value }) })), sent),
      data.trash.length ? section("Deleted entries", ...data.trash.map(([each, name]) => h("div", { class: "line" }, h("span", {}, name), button("Restore", () => say("restore_entry", { id: each }), { "aria-label": `Restore ${name}` })))) : null,
      data.report ? section("Import", report(data.report)) : null].filter(Boolean))
    page.sent = sent; page.scrollTop = at
    if (focus) { const input = form.el.querySelector("[name=name]"); input.focus(); input.select() }
  }
  const section = (title, ...kids) => h("section", {}, h("h4", {}, title), ...kids.filter(Boolean))
  const notes = (rows, more = 0) => rows.length ? h("ul", { class: "notes scroll" }, rows.map((each) => h("li", { class: each.fidelity.split(" ")[0] }, h("b", {}, each.entry), h("span", { class: "quiet" }, ` ${each.fidelity}`), each.text ? `: ${each.text}` : "")), more ? h("li", { class: "quiet" }, `and ${figure(more)} more`) : null) : null
  function report(each, at = -1) {
    const story = h("div", { class: "line" })
    if (each.story && at >= 0) story.append(h("span", {}, "A story is inside."), button("Open it as a book", (event) => { event.target.disabled = true; say("story", { at }) }))
    const el = h("div", { class: "report" + (each.refused ? " refused" : ""), role: "group", "aria-label": at >= 0 ? `Report of ${each.file || "the file"}` : "Report" }, h("p", {}, each.file ? h("b", {}, `${each.file} `) : null, each.text), each.fields ? h("p", { class: "quiet" }, each.fields) : null, notes(each.notes, each.more), story)
    el.story = story
    return el
  }

  async function take(files) {
    if (!files.length || sending) return
    wrong(""); sending = files.length; progress.hidden = false
    const given = await sendFiles(files, say, (text) => { progress.textContent = text })
    progress.textContent = `Reading ${plural(given.length, "file")}…`; say("import", { files: given })
  }
  function reports(message) {
    sending = 0; progress.hidden = true
    const box = h("div", { class: "reports", "aria-label": "What came of the files" }, h("div", { class: "line" }, h("h3", {}, `${plural(message.reports.length, "file")} read`), h("span", { class: "gap" }), button("✕", () => box.remove(), { "aria-label": "Close the reports" })), message.reports.map(report))
    dialog.querySelector(".reports")?.remove(); trouble.after(box); box.each = [...box.querySelectorAll(".report")]
  }
  function story(message) { const each = dialog.querySelector(".reports")?.each[message.at]; each?.story.replaceChildren(h("span", {}, message.text), ...[notes(message.notes)].filter(Boolean)) }
  function exported(message) {
    const bytes = Uint8Array.from(atob(message.data), (each) => each.charCodeAt(0)), link = h("a", { href: URL.createObjectURL(new Blob([bytes])), download: message.name })
    link.click(); setTimeout(() => URL.revokeObjectURL(link.href), 10000)
    page.sent?.replaceChildren(h("p", {}, h("b", {}, message.name), ` ${message.text}`), ...[notes(message.notes)].filter(Boolean))
  }
  const say = connect(model, {
    shelf, reports, story, exported,
    problem: (message) => form?.problem(message.errors),
    progress: (message) => { progress.hidden = false; progress.textContent = message.of > 1 ? `${message.text} ${message.done + 1} of ${message.of}` : message.text },
    trouble: (message) => { sending = 0; progress.hidden = true; wrong(message.text); if (page.sent) page.sent.textContent = "" },
  })
  return dialog
}
