// The copies of the whole database: when they were taken, and the books that can be brought back out of one.
export function render({ model }) {
  const button = (label, onclick, more = {}) => h("button", { class: "link", type: "button", onclick, ...more }, label)
  const list = h("div", { class: "books scroll", role: "listbox", "aria-label": "Copies" }), page = h("div", { class: "page scroll" })
  const take = h("button", { class: "go", type: "button", onclick: () => busy("Taking a copy", "take", {}) }, "Take a copy now")
  const { dialog, note, wrong } = shelfDialog("Copies", "copies-title", h("div", { class: "side" }, h("div", { class: "line" }, take), list), page)
  let data = { rows: [] }, chosen = "", ticking = null
  const wait = h("div", { class: "line wait", hidden: true, role: "status" })
  dialog.querySelector(".body").before(wait)
  dialog.addEventListener("close", () => say("closed"))

  function busy(text, what, more) {
    const told = h("span", {}, `${text}…`), since = performance.now()
    clearInterval(ticking); wrong(""); note.textContent = ""
    ticking = setInterval(() => { told.textContent = `${text}… ${Math.round((performance.now() - since) / 1000)} s` }, 1000)
    wait.hidden = false; wait.replaceChildren(told, h("span", { class: "gap" }), button("Stop", () => { idle(); say("stop") })); take.disabled = true
    say(what, more)
  }
  const idle = () => { clearInterval(ticking); wait.hidden = true; take.disabled = false }

  function rows() {
    list.replaceChildren(...data.rows.map((row) => h("button", { class: "book", type: "button", role: "option", title: row.exact, "aria-selected": String(row.name === chosen), onclick: () => { chosen = row.name; rows(); draw() } },
      h("span", { class: "name" }, row.when), h("span", { class: "quiet figure" }, row.size), h("span", { class: "under quiet" }, row.exact))))
    if (!data.rows.length) list.replaceChildren(h("p", { class: "none quiet", role: "option", "aria-selected": "false" }, "There is no copy yet."))
  }
  function draw() {
    const row = data.rows.find((each) => each.name === chosen)
    const about = h("p", { class: "quiet" }, data.about)
    if (!row) { page.replaceChildren(about); return }
    page.replaceChildren(h("h3", {}, row.exact), h("p", { class: "quiet where" }, row.path),
      h("div", { class: "line acts" }, h("button", { class: "go", type: "button", onclick: () => busy("Looking into the copy", "look", { name: row.name }) }, "Show the books in it"), button("Check it", () => busy("Reading everything in the copy", "check", { name: row.name }))),
      h("div", { class: "found" }), about)
  }
  function books(message) {
    idle()
    if (message.name !== chosen) return
    page.querySelector(".found")?.replaceChildren(h("h4", {}, "Books in this copy"), ...message.books.map((each) => h("div", { class: "line" }, h("span", { class: "name" }, each.name), h("span", { class: "quiet" }, each.facts), button("Bring it back", () => busy(`Bringing back ${each.name}`, "bring", { name: message.name, uid: each.uid }), { "aria-label": `Bring back ${each.name}` }))), ...(message.books.length ? [] : [h("p", { class: "quiet" }, "No book of yours is in it.")]))
  }
  const say = connect(model, {
    books, idle,
    shelf: (message) => { idle(); data = message; if (message.chosen) chosen = message.chosen; if (!data.rows.some((row) => row.name === chosen)) chosen = data.rows[0]?.name ?? ""; note.textContent = message.note; wrong(""); rows(); draw(); if (message.fresh && !dialog.open) dialog.showModal() },
    note: (message) => { idle(); note.textContent = message.text },
    trouble: (message) => { idle(); wrong(message.text) },
  })
  return dialog
}
