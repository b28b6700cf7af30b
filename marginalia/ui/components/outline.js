// A virtual list: only the rows in sight exist, and only their words are asked for.
const ROW = 46

export function render({ model }) {
  const inner = h("div", { class: "inner", role: "presentation" })
  const box = h("div", { class: "outline scroll", role: "listbox", tabIndex: 0, "aria-label": "Outline" }, inner)
  const rows = new Map()
  let total = 0, chosen = 0, asked = "", stale = false
  const range = () => { const from = Math.max(0, Math.floor(box.scrollTop / ROW) - 4); return [from, Math.min(total, from + Math.ceil((box.clientHeight || 600) / ROW) + 8)] }
  function draw() {
    const [from, to] = range(), out = []
    inner.style.height = total * ROW + "px"
    for (let at = from; at < to; at++) {
      const row = rows.get(at)
      const kind = [at + 1 === chosen && "chosen", row?.partial && "partial", row?.heading && "heading", row?.covered && "covered"].filter(Boolean).join(" ")
      const el = h("div", { class: `row ${kind}`, role: "option", id: `row-${at}`, "aria-selected": String(at + 1 === chosen), title: facts(row), onclick: () => choose(at + 1) },
        h("span", { class: "n figure" }, at + 1),
        h("span", { class: "words" }, row?.label ? h("b", {}, row.label, " ") : null, row?.words ?? "…"),
        h("span", { class: "meta figure" }, row?.of > 1 ? h("span", {}, `${row.at}/${row.of}`) : null, row?.bookmarked ? h("i", { "aria-label": "bookmarked" }, "★") : null, row?.summary ? h("i", { "aria-label": "has a summary" }, "S") : null,
          row ? h("span", { class: "tokens" }, figure(row.tokens)) : null))
      el.style.top = at * ROW + "px"; out.push(el)
    }
    inner.replaceChildren(...(total ? out : [h("p", { class: "none quiet" }, "The parts of the story will stand here.")]))
    const wants = `${from}-${to}`
    if (total && wants !== asked && (stale || Array.from({ length: to - from }, (_, i) => from + i).some((at) => !rows.has(at)))) { asked = wants; say("rows", { from, to }) }
  }
  const facts = (row) => row ? [`${figure(row.tokens)} tokens`, row.of > 1 && `version ${row.at} of ${row.of} (← →)`, row.covered && "stands in the prompt only through a summary", row.partial && "cut off", row.summary && `Summary: ${row.summary}`].filter(Boolean).join("\n") : ""
  const choose = (number) => { chosen = number; draw(); box.setAttribute("aria-activedescendant", `row-${number - 1}`); say("show", { number }) }
  box.addEventListener("scroll", draw, { passive: true }); new ResizeObserver(draw).observe(box)
  box.addEventListener("keydown", (event) => {
    const row = rows.get(chosen - 1), by = { ArrowLeft: -1, ArrowRight: 1 }[event.key]
    if (by && row?.of > 1 && !event.altKey) { event.preventDefault(); say("step", { id: row.id, by }); return }
    if (event.altKey || event.ctrlKey || event.metaKey) return
    const page = Math.max(1, Math.floor(box.clientHeight / ROW) - 1)
    const to = { PageDown: chosen + page, PageUp: chosen - page, Enter: chosen || 1, ArrowDown: chosen + 1, ArrowUp: chosen - 1, Home: 1, End: total }[event.key]
    if (to === undefined) return
    event.preventDefault(); choose(Math.max(1, Math.min(total, to)))
    const y = (chosen - 1) * ROW
    if (y < box.scrollTop) box.scrollTop = y; else if (y + ROW > box.scrollTop + box.clientHeight) box.scrollTop = y + ROW - box.clientHeight
  })
  const say = connect(model, {
    outline: (message) => { const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < 60; total = message.total; asked = ""; stale = true; for (const at of rows.keys()) if (at >= total) rows.delete(at); if (chosen > total) chosen = 0; draw(); if (atEnd) box.scrollTop = box.scrollHeight },
    rows: (message) => { if (stale) { stale = false; rows.clear() } message.rows.forEach((row, at) => rows.set(message.start + at, row)); asked = ""; draw() },
  })
  return box
}
