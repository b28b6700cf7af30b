// What a person sets for all books. Every change is kept at once; the page follows while one slides.
export function render({ model }) {
  const title = h("h2", { id: "preferences-title" }, "Settings"), note = h("span", { class: "quiet note", role: "status" }), trouble = h("p", { class: "trouble", role: "alert", hidden: true })
  const body = h("div", { class: "body scroll" })
  const dialog = h("dialog", { "aria-labelledby": "preferences-title" }, h("div", { class: "head" }, title, note, h("span", { class: "gap" }), h("button", { class: "link", type: "button", "aria-label": "Close", onclick: () => dialog.close() }, "✕")), trouble, body)
  dialog.addEventListener("keydown", (event) => event.stopPropagation())
  dialog.addEventListener("click", (event) => { if (event.target !== dialog || event.detail === 0) return; const at = dialog.getBoundingClientRect(); if (event.clientX < at.left || event.clientX > at.right || event.clientY < at.top || event.clientY > at.bottom) dialog.close() })
  dialog.addEventListener("close", () => say("closed"))
  let timer = null, waiting = {}
  const set = (name, value) => { waiting[name] = value; note.textContent = ""; clearTimeout(timer); timer = setTimeout(() => { say("set", { values: waiting }); waiting = {} }, 60) }

  const choice = (label, name, options, chosen) => h("fieldset", { class: "choice" }, h("legend", {}, label), h("div", { class: "options" }, options.map(([value, text, family]) => {
    const input = h("input", { type: "radio", name, value, checked: value === chosen, onchange: () => set(name, value) }), el = h("label", {}, input, h("span", {}, text))
    if (family) el.style.fontFamily = family
    return el
  })))
  const slide = (label, name, [low, high], value, unit) => {
    const told = h("output", { class: "figure" }, `${value} ${unit}`)
    return h("label", { class: "slide" }, h("span", {}, label), h("input", { type: "range", min: low, max: high, value, "aria-label": label, "aria-valuetext": `${value} ${unit}`, oninput: (event) => { told.textContent = `${event.target.value} ${unit}`; event.target.setAttribute("aria-valuetext", told.textContent); set(name, Number(event.target.value)) } }), told)
  }
  const select = (label, name, help, options, chosen) => h("label", { class: "field" }, h("span", {}, label), h("select", { "aria-label": label, onchange: (event) => set(name, event.target.value === "" ? null : Number(event.target.value)) }, [[null, "as in the open book"], ...options].map(([value, text]) => h("option", { value: value ?? "", selected: value === chosen }, text))), h("small", {}, help))
  const section = (heading, ...kids) => h("section", { "aria-label": heading }, h("h3", {}, heading), ...kids)
  const go = (label, what, key) => h("button", { class: "link place", type: "button", onclick: () => { dialog.close(); say("go", { name: what }) } }, label, key ? h("kbd", {}, key) : null)
  const stats = h("div", { class: "stats" })

  function sheet(message) {
    const kept = message.values
    trouble.hidden = true; note.textContent = ""
    body.replaceChildren(
      section("Reading",
        choice("Letters", "font", [["serif", "Serif", message.fonts.serif], ["sans", "Sans", message.fonts.sans], ["legible", "Easy to tell apart", message.fonts.legible]], kept.font),
        slide("Size", "size", message.sizes, kept.size, "px"), slide("Width of the column", "measure", message.measures, kept.measure, "characters"),
        choice("Paper", "theme", [["system", "As the system"], ["light", "Light"], ["dark", "Dark"]], kept.theme),
        h("p", { class: "sample", lang: "en" }, "The sea had been up since noon. Mara climbed the last turn of the stairs with the lamp oil sloshing in its can, and counted the steps she had counted every night since she was nine.")),
      section("New books", h("div", { class: "fields" },
        select("Model of new books", "provider_id", "What writes them.", message.models, kept.provider_id),
        select("Protocol of new books", "protocol_id", "How the model is asked.", message.protocols, kept.protocol_id)),
        h("p", { class: "quiet" }, "Their prompts are your own defaults, else the built-in ones.")),
      section("Written", stats),
      section("In their own place", h("div", { class: "places" }, message.places.map(([name, label, key]) => go(label, name, key)))))
    stats.replaceChildren(h("p", { class: "quiet" }, "counting…"))
    if (!dialog.open) dialog.showModal()
    body.querySelector("input:checked")?.focus({ preventScroll: true }); body.scrollTop = 0
  }
  function written(message) {
    const bars = message.days.map((day) => {
      const hand = h("i", { class: "hand" }), model_ = h("i", { class: "model" })
      hand.style.height = day.hand_share + "%"; model_.style.height = day.model_share + "%"
      return h("li", { title: `${day.day}: ${day.text}` }, h("span", { class: "bar", "aria-hidden": "true" }, model_, hand), h("span", { class: "spoken" }, `${day.day}: ${day.text}`))
    })
    stats.replaceChildren(h("p", {}, message.text), h("ol", { class: "days", "aria-label": "Words per day" }, bars),
      h("p", { class: "legend quiet" }, h("i", { class: "hand" }), "by hand", h("i", { class: "model" }), "by models", h("span", { class: "gap" }), `${message.days[0].day} – today`))
  }
  const say = connect(model, { sheet, written, saved: () => { note.textContent = "kept" }, trouble: (message) => { trouble.hidden = false; trouble.textContent = message.text } })
  return dialog
}
