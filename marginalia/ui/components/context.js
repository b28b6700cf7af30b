// The context as one bar on a scale of tokens, the pieces it is made of below it, and its figures.
export function render({ model }) {
  const whole = Math.max(1, ...model.bars.map((bar) => bar.right)), told = h("p", { class: "note", role: "status" })
  const bar = (each) => h("button", { type: "button", title: `${each.label}: ${figure(each.tokens)} tokens${each.detail ? "\n" + each.detail : ""}`, "aria-label": `${each.label}, ${figure(each.tokens)} tokens`,
    style: `left:${100 * each.left / whole}%;width:${100 * (each.right - each.left) / whole}%;background:${each.colour}`,
    onclick: () => { told.textContent = `${each.label}, ${figure(each.tokens)} tokens${each.detail ? ": " + each.detail : ""}` } })
  const lane = (above) => h("div", { class: "lane" + (above ? "" : " pieces") }, model.bars.filter((each) => each.above === above).map(bar))
  return h("div", { class: "ledger context" }, lane(true), lane(false), h("p", { class: "headline figure" }, model.headline), model.note ? h("p", { class: "note quiet" }, model.note) : "", told,
    h("dl", {}, model.rows.map((row) => h("div", { title: row.title }, h("dt", {}, h("i", { style: `background:${row.colour}` }), row.label), h("dd", { class: "figure" }, row.value)))))
}
