// The page *Panels* of the inspector: what the extensions show of the open book.
export function render({ model }) {
  const wrong = h("p", { class: "trouble", role: "alert", hidden: true }), page = h("div", { class: "page" })
  const board = panelBoard(page, () => say)
  const more = h("button", { class: "link", type: "button", onclick: () => say("extensions") }, "Extensions…")
  const trouble = (message) => { wrong.hidden = !message.text; wrong.textContent = message.text }
  const say = connect(model, { ...board, trouble })
  return h("div", { class: "sheet scroll" }, wrong, page, more)
}
