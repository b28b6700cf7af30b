// A short table of figures: a swatch, what, how much, and a word on it.
export function render({ model }) {
  const el = h("div", { class: "ledger" })
  const draw = () => {
    el.replaceChildren(
      model.headline ? h("p", { class: "headline figure" }, model.headline) : "", model.note ? h("p", { class: "note quiet" }, model.note) : "",
      h("dl", {}, model.rows.map((row) => h("div", { class: row.strong ? "strong" : "", title: row.title ?? "" },
        h("dt", {}, row.colour ? h("i", { style: `background:${row.colour}` }) : "", row.label), h("dd", { class: "figure" }, row.value), row.detail ? h("dd", { class: "detail quiet figure" }, row.detail) : ""))),
      ...model.notes.map((note) => h("p", { class: "note" }, stressed(note))))
  }
  model.on(["rows", "headline", "note", "notes"], draw); draw()
  return el
}
