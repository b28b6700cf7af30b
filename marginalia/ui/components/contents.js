// The table of contents: the headings of the branch that is read; choosing one goes there.
export function render({ model }) {
  const body = h("div", { class: "body scroll" })
  const dialog = h("dialog", { "aria-labelledby": "contents-title" }, h("div", { class: "head" }, h("h2", { id: "contents-title" }, "Contents"), h("span", { class: "gap" }), h("button", { class: "link", type: "button", "aria-label": "Close", onclick: () => dialog.close() }, "✕")), body)
  dialog.addEventListener("click", (event) => { if (event.target !== dialog || event.detail === 0) return; const at = dialog.getBoundingClientRect(); if (event.clientX < at.left || event.clientX > at.right || event.clientY < at.top || event.clientY > at.bottom) dialog.close() })
  dialog.addEventListener("keydown", (event) => {
    event.stopPropagation()
    const lines = [...body.querySelectorAll(".chapter")], at = lines.indexOf(dialog.getRootNode().activeElement)
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: lines.length - 1 }[event.key]
    if (to !== undefined && lines.length) { event.preventDefault(); lines[Math.max(0, Math.min(lines.length - 1, to))].focus() }
  })
  const show = (...kids) => { body.replaceChildren(...kids); if (!dialog.open) dialog.showModal() }
  const say = connect(model, {
    looking: () => show(h("p", { class: "quiet" }, "looking for headings…")),
    close: () => dialog.close(),
    contents: (message) => {
      if (!dialog.open) return
      if (!message.rows.length) { show(h("p", { class: "empty" }, "No chapter has a heading yet."), h("p", { class: "quiet" }, "A line that begins with # in a part, or a short line of its own at its beginning, is one. Edit a part (E) to write it.")); return }
      show(h("nav", { "aria-label": "Chapters" }, message.rows.map((row) => {
        const line = h("button", { class: "chapter", type: "button", onclick: () => { dialog.close(); say("show", { number: row.number }) } }, h("span", { class: "words" }, row.words), h("span", { class: "dots", "aria-hidden": "true" }), h("span", { class: "quiet figure" }, `part ${figure(row.number)}`))
        line.style.paddingLeft = 8 + (row.level - 1) * 18 + "px"
        return line
      })))
      body.querySelector(".chapter")?.focus()
    },
  })
  return dialog
}
