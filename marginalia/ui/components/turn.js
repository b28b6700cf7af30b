const FIELDS = ["scene_setting", "pov_character", "present_characters", "instructions"]

export function render({ model }) {
  const labels = model.labels, inputs = {}, touched = new Set()
  let timer = null, last = 0, key = null, offered = {}
  const make = (name, rows, hint) => {
    const input = h("textarea", { rows, placeholder: hint, "aria-label": labels[name][0], title: labels[name][1], spellcheck: true, autocomplete: "off" })
    input.addEventListener("input", () => { touched.add(name); keep(); later() })
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); event.stopPropagation(); generate() }
      else if (event.key === "Escape" && !model.running) input.blur() // so that the keys of the page are keys again
    })
    inputs[name] = input
    return h("label", { class: "field " + name }, h("span", {}, labels[name][0]), input)
  }
  const values = () => Object.fromEntries(FIELDS.map((name) => [name, inputs[name].value]))
  const keep = () => remember(key, touched.size ? Object.fromEntries([...touched].map((name) => [name, inputs[name].value])) : null)
  const flush = () => { clearTimeout(timer); timer = null; last = performance.now(); say("draft", { fields: values() }) }
  // The first key after a pause goes out at once, the rest after a short rest.
  const later = () => { clearTimeout(timer); timer = setTimeout(flush, performance.now() - last > 600 ? 0 : model.wait) }

  const go = h("button", { class: "go", type: "button", onclick: () => model.running ? say("stop") : generate() })
  const status = h("span", { class: "status quiet figure", role: "status" })
  const trouble = h("div", { class: "trouble", role: "alert", hidden: true })
  const question = h("div", { class: "trouble", role: "alertdialog", hidden: true })
  const generate = () => { if (model.running || model.blocked) return; flush(); say("generate", { fields: values() }) }

  const more = h("button", { class: "link fold", type: "button", "aria-expanded": "false", onclick: () => {
    const open = form.classList.toggle("open"); more.setAttribute("aria-expanded", String(open)); remember("mg:turn-open", open) } })
  const form = h("form", { class: "turn", "aria-label": "Next part", onsubmit: (event) => { event.preventDefault(); generate() } },
    more,
    h("div", { class: "where" }, make("scene_setting", 1, "Where and when"), make("pov_character", 1, "Whose eyes"), make("present_characters", 1, "Who is there")),
    make("instructions", 1, "What happens next"),
    h("div", { class: "row" }, status, go), trouble, question)
  if (remembered("mg:turn-open")) { form.classList.add("open"); more.setAttribute("aria-expanded", "true") }

  const summary = () => {
    const said = [inputs.scene_setting.value, inputs.pov_character.value, inputs.present_characters.value].map((text) => text.trim()).filter(Boolean)
    more.textContent = said.length ? said.join(" · ") : "Scene Setting, POV Character, Present Characters"
  }
  form.addEventListener("input", summary)

  function fill() {
    if (model.draft_key !== key) { key = model.draft_key; touched.clear(); const saved = remembered(key) ?? {}
      for (const name of FIELDS) if (typeof saved[name] === "string") { touched.add(name); inputs[name].value = saved[name] } }
    offered = model.carried
    for (const name of FIELDS) if (!touched.has(name)) inputs[name].value = offered[name] ?? ""
    summary(); flush()
  }
  // A part came of it: what was typed is in the story now, and the next turn starts from there.
  function sent(message) {
    if (inputs.instructions.value.trim() === message.instructions.trim()) { touched.clear(); inputs.instructions.value = ""; remember(key, null); fill() }
  }

  let ticking = null
  function state() {
    go.textContent = model.running ? "Stop" : "Generate"
    go.classList.toggle("stop", model.running); go.disabled = !model.running && model.blocked
    go.title = model.running ? "Stop (Esc). What has come is kept." : "Generate (Ctrl+Enter)"
    clearInterval(ticking)
    const { text = "", age = 0, ticks = false } = model.status, since = performance.now() - age * 1000
    const draw = () => { status.textContent = ticks ? `${text} ${Math.max(0, Math.floor((performance.now() - since) / 1000))} s` : text }
    draw(); if (ticks) ticking = setInterval(draw, 1000)
  }
  function troubles() {
    const { text, action, label, calm } = model.trouble
    trouble.hidden = !text; trouble.classList.toggle("calm", !!calm); trouble.setAttribute("role", calm ? "status" : "alert")
    trouble.replaceChildren(h("span", {}, text ?? ""), h("span", { class: "gap" }),
      action ? h("button", { class: "link strong", type: "button", onclick: () => say("action", { name: action }) }, label) : "",
      h("button", { class: "link", type: "button", "aria-label": "Close", onclick: () => say("dismiss") }, "✕"))
    question.hidden = !model.question
    question.replaceChildren(h("span", {}, model.question), h("span", { class: "gap" }),
      h("button", { class: "link strong", type: "button", onclick: () => say("answer", { yes: true }) }, "Yes"),
      h("button", { class: "link", type: "button", onclick: () => say("answer", { yes: false }) }, "No"))
  }
  const say = connect(model, { sent, focus: () => inputs.instructions.focus(), fill: (message) => { inputs.instructions.value = message.instructions; touched.add("instructions"); keep(); later(); inputs.instructions.focus() } })
  model.on(["running", "blocked", "status"], state); model.on(["trouble", "question"], troubles)
  model.on(["draft_key", "carried"], () => queueMicrotask(fill))
  model.on("remove", () => clearInterval(ticking))
  fill(); state(); troubles()
  return form
}
