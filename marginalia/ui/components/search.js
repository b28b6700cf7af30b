// Search while one types: the hits below, the words marked in the text. Enter and the arrows go through the hits.
export function render({ model }) {
  const input = h("input", { type: "search", placeholder: "Search all branches: words, \"phrases\", *", "aria-label": "Search the story", spellcheck: false, autocomplete: "off" })
  const note = h("span", { class: "quiet figure", role: "status" })
  const list = h("div", { class: "hits scroll", role: "listbox", "aria-label": "Hits", hidden: true })
  const bar = h("div", { class: "search", role: "search", hidden: true }, h("div", { class: "line" }, input, note,
    h("button", { class: "link", "aria-label": "Previous hit", title: "Previous hit (↑)", onclick: () => go(-1) }, "↑"), h("button", { class: "link", "aria-label": "Next hit", title: "Next hit (↓ or Enter)", onclick: () => go(1) }, "↓"),
    h("button", { class: "link", "aria-label": "Close search", title: "Close (Esc)", onclick: () => say("close") }, "✕")), list)
  let rows = [], at = -1, timer = null, asked = ""
  const ask = () => { clearTimeout(timer); if (input.value === asked) return; asked = input.value; say("search", { query: asked }) }
  input.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(ask, 150) })
  input.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && input.value === asked) { event.preventDefault(); go(event.shiftKey ? -1 : 1) } else if (event.key === "Enter") ask()
    else if (event.key === "ArrowDown") { event.preventDefault(); go(1) } else if (event.key === "ArrowUp") { event.preventDefault(); go(-1) }
    else if (event.key === "Escape") { event.stopPropagation(); say("close") }
  })
  function go(by) { if (rows.length) choose((at + by + rows.length) % rows.length) }
  function choose(to) {
    at = to
    for (const [index, el] of [...list.children].entries()) el.setAttribute("aria-selected", String(index === at))
    list.children[at].scrollIntoView({ block: "nearest" }); say("read", { id: rows[at].id })
  }
  function found(message) {
    const kept = rows[at]?.id
    rows = message.rows; at = rows.findIndex((row) => row.id === kept); list.hidden = !rows.length
    note.textContent = message.text
    list.replaceChildren(...rows.map((row, index) => h("div", { class: "hit", role: "option", "aria-selected": String(index === at), onclick: () => choose(index) },
      h("span", { class: "where quiet figure" }, row.where), h("span", { class: "excerpt" }, row.pieces.map(([marked, text]) => marked ? h("mark", {}, text) : text)))))
  }
  const draw = () => { const opens = model.shown && bar.hidden; bar.hidden = !model.shown; if (opens) { input.focus(); input.select() } if (!model.shown) { input.value = asked = ""; found({ rows: [], text: "" }) } }
  const say = connect(model, { found, focus: () => { bar.hidden = false; input.focus(); input.select() } })
  model.on("shown", draw); draw()
  return bar
}
