// What a run did and when: one table whose bars stand on one scale of time. The whole run, or only what came before it was sent.
export function render({ model }) {
  const el = h("div", { class: "timeline", hidden: true })
  let data = null, zoom = false
  const scale = () => Math.max(1e-6, zoom ? data.sent : data.seconds)
  const pressed = (label, title, on, act) => h("button", { class: "chip", type: "button", title, "aria-pressed": String(on), onclick: () => { act(); draw() } }, label)
  const line = (rates, start, end) => {
    const most = Math.max(...rates.map(([, rate]) => rate), 1e-6), long = Math.max(1e-6, end - start)
    const points = rates.map(([at, rate]) => `${(100 * (at - start) / long).toFixed(2)},${(16 - 15 * rate / most).toFixed(2)}`).join(" ")
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), path = document.createElementNS("http://www.w3.org/2000/svg", "polyline")
    svg.setAttribute("viewBox", "0 0 100 16"); svg.setAttribute("preserveAspectRatio", "none")
    path.setAttribute("points", points); svg.append(path)
    return svg
  }
  const bar = (row, colour) => {
    const whole = scale(), left = 100 * Math.min(row.start, whole) / whole, width = 100 * (Math.min(row.end, whole) - Math.min(row.start, whole)) / whole
    const mark = h("i", { class: row.end > row.start ? "" : "moment", style: `left:${Math.min(left, 99)}%;width:${width}%;background:${colour}` })
    if (row.name === "writing" && data.rates.length > 1 && !zoom) mark.append(line(data.rates, row.start, row.end))
    if (row.start > whole) mark.hidden = true
    return h("td", { class: "bar", "aria-hidden": "true" }, h("div", {}, mark))
  }
  const row_ = (row, colour) => h("tr", { title: [row.owner, row.title, row.about].filter(Boolean).join(" · ") },
    h("th", { scope: "row" }, row.owner ? h("b", {}, row.owner) : "", h("span", { class: row.owner ? "quiet" : "" }, row.name), row.about ? h("small", { class: "quiet" }, row.about) : ""),
    bar(row, colour), h("td", { class: "figure" }, row.text))
  function draw() {
    el.hidden = !data || !data.groups.length
    if (el.hidden) return el.replaceChildren()
    const zoomable = data.sent > 0 && data.sent < data.seconds * .5
    if (!zoomable) zoom = false
    const focused = el.getRootNode().activeElement?.textContent
    const tools = zoomable ? h("div", { class: "chips", role: "group", "aria-label": "Time shown" },
      pressed(`whole run, ${data.whole_text}`, "From the click to the end", !zoom, () => { zoom = false }),
      pressed(`building the prompt, ${data.sent_text}`, "Only what came before it was sent", zoom, () => { zoom = true })) : ""
    const table = h("table", {}, h("caption", {}, `What happened when, in ${zoom ? data.sent_text : data.whole_text}`),
      h("colgroup", {}, h("col", { class: "what" }), h("col"), h("col", { class: "took" })),
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, h("span", {}, "What")), h("td", {}), h("th", { scope: "col" }, h("span", {}, "Took")))),
      data.groups.map((group) => h("tbody", {}, h("tr", { class: "group" }, h("th", { scope: "rowgroup", colSpan: 3 }, group.name)), group.rows.map((row) => row_(row, group.colour)))))
    el.replaceChildren(tools, table)
    if (focused) [...el.querySelectorAll("button")].find((button) => button.textContent === focused)?.focus()
  }
  const say = connect(model, { timeline: (message) => { data = message.timeline; draw() } })
  return el
}
