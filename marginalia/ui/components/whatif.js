// What if: numbers to try out. The picture above follows while a knob is moved; nothing is kept until "Keep".
const WAIT = 60
export function render({ model }) {
  const el = h("div", { class: "whatif" }), knobs = h("div", { class: "knobs" }), told = h("p", { class: "note", role: "status" })
  const acts = h("div", { class: "acts" }), rungs = h("div", { class: "rungs" }), missing = h("div", { class: "missing" })
  const say = connect(model, {})
  let timer = null
  const wished = () => Object.fromEntries([...knobs.querySelectorAll("input.exact")].map((input) => [input.name, Number(input.value)]))
  const wish = () => { clearTimeout(timer); timer = setTimeout(() => say("wish", { values: wished() }), WAIT) }
  // A context may be 2k or 128k: its slider goes by ratios, the others by equal steps.
  const scale = (each) => each.ratio ? { bottom: 0, top: 100,
    to: (at) => Math.round(each.least * (each.most / each.least) ** (at / 100) / each.step) * each.step,
    from: (number) => 100 * Math.log(Math.max(each.least, number) / each.least) / Math.log(each.most / each.least) } : { bottom: each.least, top: each.most, to: (at) => at, from: (number) => number }
  const knob = (each) => {
    const by = scale(each)
    const lowest = each.least ? 1 : 0, exact = h("input", { type: "number", class: "exact figure", name: each.name, min: lowest, max: each.most, step: 1, value: each.value, "aria-label": `${each.label}, exact` })
    const range = h("input", { type: "range", min: by.bottom, max: by.top, step: each.ratio ? 1 : each.step, "aria-label": each.label, "aria-valuetext": figure(each.value) })
    range.value = by.from(each.value)
    range.addEventListener("input", () => { exact.value = by.to(Number(range.value)); range.setAttribute("aria-valuetext", figure(exact.value)); wish() })
    exact.addEventListener("change", () => { exact.value = Math.round(Math.min(each.most, Math.max(lowest, Number(exact.value) || 0))); range.value = by.from(Number(exact.value)); wish() })
    exact.addEventListener("keydown", (event) => event.stopPropagation())
    return h("div", { class: "knob", title: each.help }, h("span", {}, each.label), range, exact)
  }
  const drawKnobs = () => knobs.replaceChildren(...model.knobs.map(knob))
  const drawActs = () => {
    told.textContent = model.told; told.hidden = !model.told
    acts.replaceChildren(...(model.tried ? [
      ...model.keep.map((way, at) => h("button", { class: "link" + (at ? "" : " strong"), title: way.title, onclick: () => say("apply", { fresh: way.fresh }) }, way.label)),
      h("button", { class: "link", onclick: () => { clearTimeout(timer); drawKnobs(); say("reset") } }, "Back to how it is")] : model.kept ? [
      h("span", { class: "quiet" }, model.kept), h("button", { class: "link strong", title: "Everything as it was before", onclick: () => say("back") }, "Take it back")] : []))
  }
  const drawRungs = () => rungs.replaceChildren(...model.rungs.map((rung) => h("div", { class: "rung" + (rung.here ? " here" : ""), title: rung.title },
    h("span", { class: "figure" }, rung.label), h("i", {}, h("b", { style: `width:${rung.share}%` })), h("span", { class: "quiet figure" }, rung.text))))
  const drawMissing = () => missing.replaceChildren(...(model.left ? [h("details", {}, h("summary", {}, `Left out: ${model.left}`),
    h("dl", {}, model.missing.map((each) => h("div", { title: each.reason }, h("dt", {}, each.name), h("dd", { class: "figure" }, `${figure(each.tokens)} tokens`), h("dd", { class: "detail quiet" }, each.text)))), model.more ? h("p", { class: "note quiet" }, model.missing.length ? `and ${figure(model.more)} more.` : "Which they were was not kept.") : "")] : []))
  const layout = h("label", { class: "tick" }, h("input", { type: "checkbox", onchange: (event) => say("stable", { on: event.target.checked }) }), h("span", {}, h("b", {}, "Stable layout"), h("small", {}, "Lore that comes and goes stands behind the story, and old parts leave in blocks: a server has to read less anew at every turn.")))
  const drawLayout = () => { layout.querySelector("input").checked = model.stable }
  const fold = h("details", { class: "try" }, h("summary", {}, "What if"), knobs, told, acts, h("p", { class: "sub quiet" }, "What a context of this size would hold"), rungs, layout)
  fold.addEventListener("toggle", () => { say(fold.open ? "open" : "shut"); if (fold.open) fold.scrollIntoView({ block: "nearest" }) })
  const offer = () => { fold.hidden = !model.offered }
  model.on("knobs", drawKnobs); model.on(["tried", "told", "keep", "kept"], drawActs); model.on("rungs", drawRungs); model.on(["missing", "left", "more"], drawMissing); model.on("stable", drawLayout); model.on("offered", offer)
  drawKnobs(); drawActs(); drawRungs(); drawMissing(); drawLayout(); offer()
  el.append(missing, fold)
  return el
}
