// What a part was before, and what is in the trash: to look at, and to bring back.
export function render({ model }) {
  const title = h("h2", { id: "title" }), body = h("div", { class: "body scroll" })
  const dialog = h("dialog", { "aria-labelledby": "title" }, h("div", { class: "head" }, title, h("button", { class: "link", "aria-label": "Close", onclick: () => dialog.close() }, "✕")), body)
  dialog.addEventListener("keydown", (event) => event.stopPropagation())
  dialog.addEventListener("close", () => say("closed"))
  const show = (heading, ...kids) => { title.textContent = heading; body.replaceChildren(...kids.flat()); if (!dialog.open) dialog.showModal(); body.scrollTop = 0 }
  const words = (pieces) => h("div", { class: "text" }, pieces.map(([kind, text]) => kind === "same" && text.length > 600
    ? [h("span", {}, text.slice(0, 240)), h("button", { class: "link", onclick: (event) => event.target.replaceWith(text.slice(240, -240)) }, "…"), h("span", {}, text.slice(-240))]
    : h(kind === "added" ? "ins" : kind === "removed" ? "del" : "span", {}, text)))
  function revision(data, open) {
    const el = h("details", { class: "revision", open }, h("summary", {}, h("b", {}, data.current ? "Now" : data.when), h("span", { class: "quiet", title: data.exact }, ` ${data.how} · ${data.size}`), h("span", { class: "gap" }),
      data.current ? null : h("button", { class: "link strong", onclick: (event) => { event.preventDefault(); say("bring_back", { id: data.id }) } }, "Bring back")), words(data.pieces))
    return el
  }
  const say = connect(model, {
    revisions: (message) => { const first = message.rows.findIndex((row) => !row.current)
      show(message.title, h("p", { class: "intro" }, message.rows.length > 1 ? "Each older text, compared with what stands there now: what was taken out since, and what came in. What you bring back can be undone." : "This part has only ever had one text."), message.rows.map((row, at) => revision(row, at === first))) },
    trash: (message) => show("Trash", message.rows.length ? message.rows.map((row) => h("article", { class: "gone" }, h("p", {}, row.words), h("span", { class: "quiet figure" }, row.size), h("button", { class: "link strong", onclick: () => say("restore", { id: row.id }) }, "Restore"))) : [h("p", { class: "intro" }, "Nothing was deleted from this book.")]),
    close: () => dialog.close(),
  })
  return dialog
}
