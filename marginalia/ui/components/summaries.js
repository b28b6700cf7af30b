// The summaries in use. One is edited in place; two chosen ones are merged with all between them.
export function render({ model }) {
  const chosen = new Set()
  const status = h("span", { class: "quiet figure", role: "status" })
  const busy = h("div", { class: "busy", hidden: true }, status, h("span", { class: "gap" }), h("button", { class: "link strong", onclick: () => say("stop") }, "Stop")), written = h("p", { class: "written", hidden: true })
  const merge = h("button", { class: "link strong", onclick: () => { say("merge", { parts: [...chosen] }); chosen.clear(); draw() } }, "Merge")
  const write = h("button", { class: "link", title: "Summarise the story up to its last part, down to the summary before", onclick: () => say("create") }, "+ Summary")
  const again = h("button", { class: "link strong", title: "Only the stale ones are written again", onclick: () => say("remake") }, "Write stale ones again")
  const headline = h("p", { class: "headline quiet figure" }), list = h("div", {})
  const box = h("div", { class: "summaries scroll", "aria-label": "Summaries", role: "region" }, h("div", { class: "tools" }, write, again, h("span", { class: "gap" }), merge), busy, written, headline, list)
  let ticking = null
  function row(data, inside) {
    const text = h("p", { class: "text", tabIndex: inside ? undefined : 0, title: inside ? "" : "Click to edit", onclick: () => inside || edit(data, text), onkeydown: (event) => { if (event.key === "Enter" && !inside) { event.preventDefault(); edit(data, text) } } }, data.text)
    const tick = inside ? null : h("input", { type: "checkbox", checked: chosen.has(data.part), "aria-label": `Choose summary ${data.where}`, onchange: () => { tick.checked ? chosen.add(data.part) : chosen.delete(data.part); tools() } })
    return h("article", { class: "summary" + (data.stale ? " stale" : ""), "aria-label": `Summary ${data.where}` },
      h("header", {}, tick ? h("label", { class: "pick" }, tick) : null, h("button", { class: "link where figure", title: "Show the part", onclick: () => say("read", { part: data.part }) }, data.where), data.meta ? h("span", { class: "quiet" }, "merged") : null, h("span", { class: "gap" }),
        inside ? null : [data.meta ? h("button", { class: "link", title: "Give back what it merged", onclick: () => say("remove", { part: data.part, unwind: true }) }, "Unwind") : null,
          h("button", { class: "link", "aria-label": `Delete summary ${data.where}`, title: "Take it away; the parts stand in the prompt again", onclick: () => say("remove", { part: data.part, unwind: false }) }, "Delete")]),
      data.stale ? h("p", { class: "why", role: "note" }, `Stale. ${data.stale}`) : null, text, h("p", { class: "facts quiet figure" }, data.facts),
      data.children.length ? h("details", {}, h("summary", {}, `${data.children.length} merged`), data.children.map((child) => row(child, true))) : null)
  }
  function edit(data, text) {
    const area = h("textarea", { "aria-label": `Text of summary ${data.where}`, value: data.text, spellcheck: true })
    const leave = (keep) => { if (!area.isConnected) return; if (keep && area.value.trim() && area.value !== data.text) { data.text = area.value; text.textContent = area.value; say("edit", { part: data.part, text: area.value }) } area.replaceWith(text) }
    area.addEventListener("keydown", (event) => { event.stopPropagation(); if (event.key === "Escape") leave(false); else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) leave(true) })
    area.addEventListener("blur", () => leave(true))
    text.replaceWith(area); area.focus()
  }
  function tools() { merge.hidden = chosen.size < 2; again.hidden = !model.stale; for (const el of [merge, again, write]) el.disabled = !!model.busy.text }
  function draw() {
    for (const part of chosen) if (!model.rows.some((data) => data.part === part)) chosen.delete(part)
    headline.textContent = model.headline
    if (!list.querySelector("textarea")) list.replaceChildren(...(model.rows.length ? model.rows.map((data) => row(data, false)) : [h("p", { class: "none quiet" }, "No summaries yet. One stands in the prompt for the parts that it sums up, so that a long story fits.")]))
    tools()
  }
  function work() {
    clearInterval(ticking); busy.hidden = !model.busy.text; tools()
    written.textContent = model.busy.written ?? ""; written.hidden = !written.textContent
    if (busy.hidden) return
    const since = performance.now() - model.busy.age * 1000, tick = () => { status.textContent = `${model.busy.text}… ${Math.floor((performance.now() - since) / 1000)} s` }
    tick(); ticking = setInterval(tick, 1000)
  }
  const say = connect(model, {})
  model.on(["rows", "headline", "stale"], draw); model.on("busy", work); model.on("remove", () => clearInterval(ticking)); draw(); work()
  return box
}
