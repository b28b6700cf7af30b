// The extensions in a dialog: switches at the left; what each shows of the open book, and its form, at the right.
export function render({ model }) {
  const list = h("div", { class: "books scroll", role: "group", "aria-label": "Extensions" }), page = h("div", { class: "page scroll" })
  const { dialog, note, wrong } = shelfDialog("Extensions", "extensions-title", h("div", { class: "side" }, list), page)
  dialog.addEventListener("close", () => say("closed"))
  const board = panelBoard(page, () => say)

  function list_(message) {
    wrong(""); note.textContent = message.note
    const at = dialog.getRootNode().activeElement?.id
    list.replaceChildren(...message.rows.map((row) => h("label", { class: "extension", htmlFor: `x-${row.name}` },
      h("input", { type: "checkbox", id: `x-${row.name}`, checked: row.on, disabled: !row.known, "aria-label": row.title, onchange: (event) => say("switch", { name: row.name, on: event.target.checked }) }),
      h("span", {}, h("b", {}, row.title), h("small", { class: "quiet" }, row.description), row.problem ? h("small", { class: "bad", role: "alert" }, row.problem) : null))))
    if (at) list.querySelector(`#${CSS.escape(at)}`)?.focus()
    if (!dialog.open) dialog.showModal()
  }
  const say = connect(model, { list: list_, ...board, trouble: (message) => wrong(message.text) })
  return dialog
}
