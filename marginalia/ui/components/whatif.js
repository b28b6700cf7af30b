// What if: four numbers to try out. The picture above follows while a knob is moved; nothing is kept until "Keep".
const WAIT = 60
export function render({ model }) {
  const el = h("div", { class: "whatif" }), knobs = h("div", { class: "knobs" }), told = h("p", { class: "note", role: "status" })
  const acts = h("div", { class: "acts" }), rungs = h("div", { class: "rungs" }), missing = h("div", { class: "missing" })
  const say = connect(model, {})
  let timer = null
  const wished = () => Object.fromEntries([...knobs.querySelectorAll("input[type=range]")].map((input) => [input.name, Number(input.value)]))
  const wish = () => { clearTimeout(timer); timer = setTimeout(() => say("wish", { values: wished() }), WAIT) }
  const knob = (each) => {
    const exact = h("input", { type: "number", class: "exact figure", min: each.least, max: each.most, step: 1, value: each.value, "aria-label": `${each.label}, exact` })
    const range = h("input", { type: "range", name: each.name, min: each.least, max: each.most, step: each.step, value: each.value, "aria-label": each.label })
    range.value = each.value // once min and max are known
    range.addEventListener("input", () => { exact.value = range.value; wish() })
    exact.addEventListener("change", () => { const number = Math.round(Math.min(each.most, Math.max(each.least, Number(exact.value) || 0))); exact.value = number; range.step = 1; range.value = number; wish() })
    return h("label", { class: "knob", title: each.help }, h("span", {}, each.label), range, exact)
  }
  const drawKnobs = () => knobs.replaceChildren(...model.knobs.map(knob))
  const drawActs = () => {
    told.textContent = model.told; told.hidden = !model.told
    acts.replaceChildren(...(model.tried ? [
      h("button", { class: "link strong", onclick: () => say("apply") }, model.protocol ? `Keep in ${model.protocol}` : "Keep as a new protocol"),
      model.protocol ? h("button", { class: "link", onclick: () => say("apply", { fresh: true }) }, "Keep as a new protocol") : "",
      h("button", { class: "link", onclick: () => say("reset") }, "Back to how it is")].filter(Boolean) : []))
  }
  const drawRungs = () => rungs.replaceChildren(...model.rungs.map((rung) => h("div", { class: "rung" + (rung.here ? " here" : ""), title: rung.title },
    h("span", { class: "figure" }, rung.label), h("i", {}, h("b", { style: `width:${rung.share}%` })), h("span", { class: "quiet figure" }, rung.text))))
  const drawMissing = () => missing.replaceChildren(...(model.missing.length ? [h("details", {}, h("summary", {}, `Left out: ${model.missing.length === 50 ? "50 and more" : model.missing.length}`),
    h("dl", {}, model.missing.map((each) => h("div", { title: each.reason }, h("dt", {}, each.name), h("dd", { class: "figure" }, `${figure(each.tokens)} tokens`), h("dd", { class: "detail quiet" }, each.text)))))] : []))
  const layout = h("label", { class: "tick" }, h("input", { type: "checkbox", onchange: (event) => say("stable", { on: event.target.checked }) }), h("span", {}, h("b", {}, "Stable layout"), h("small", {}, "Lore that comes and goes stands behind the story, and old parts leave in blocks: a server has to read less anew at every turn.")))
  const drawLayout = () => { layout.querySelector("input").checked = model.stable }
  const fold = h("details", { class: "try" }, h("summary", {}, "What if"), knobs, told, acts, h("p", { class: "sub quiet" }, "What a context of this size would hold"), rungs, layout)
  fold.addEventListener("toggle", () => { if (fold.open) say("open") })
  model.on("knobs", drawKnobs); model.on(["tried", "told", "protocol"], drawActs); model.on("rungs", drawRungs); model.on("missing", drawMissing); model.on("stable", drawLayout)
  drawKnobs(); drawActs(); drawRungs(); drawMissing(); drawLayout()
  el.append(missing, fold)
  return el
}
