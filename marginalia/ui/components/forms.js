// A form made from the description of a param class: label, help, bounds, choices; one place for every field.
function fields(described) {
  const inputs = {}, notes = {}, lists = {}, put = {} // put: what was filled in here and not typed since
  const object = (text) => { if (!text.trim()) return ""; try { const found = JSON.parse(text); return found && typeof found === "object" && !Array.isArray(found) ? "" : 'This has to be an object, like {"min_p": 0.05}.' } catch (error) { return `This is no JSON: ${error.message}.` } }
  const note = (name, text, bad) => { notes[name].textContent = text; notes[name].className = bad ? "bad" : ""; inputs[name][1].setAttribute("aria-invalid", String(Boolean(bad))) }
  const options = (field) => field.options.map(([value, label]) => h("option", { value: String(value ?? ""), selected: value === field.value }, label))
  // A number with a switch: off is not sent at all, which is something else than any number.
  const switched = (field, common) => {
    const number = h("input", { ...common, type: "text", inputMode: "decimal", value: field.value ?? "", placeholder: "not sent", disabled: field.value === null })
    const on = h("input", { type: "checkbox", role: "switch", checked: field.value !== null, "aria-label": `Send ${field.label}`, onchange: () => { number.disabled = !on.checked; number.value = on.checked ? field.start ?? "" : ""; if (on.checked) { number.focus(); number.select() } } })
    return [number, h("span", { class: "switched" }, on, number)]
  }
  const preset = (chosen) => {
    for (const [name, value] of Object.entries(chosen.sets)) {
      const [, input] = inputs[name] ?? []
      if (input && (!input.value || input.value === put[name] || input.tagName === "SELECT")) { input.value = value; put[name] = value }
    }
  }
  const make = (field) => {
    const id = `f-${field.name}`, said = h("small", { id: `${id}-doc` }, field.doc)
    const common = { id, "aria-label": field.label, "aria-describedby": `${id}-doc`, name: field.name, autocomplete: "off" }
    let input, shown
    if (field.kind === "switched") [input, shown] = switched(field, common)
    else if (field.kind === "json") input = h("textarea", { ...common, class: "code", rows: 2, value: field.value ?? "", spellcheck: false, oninput: () => { const wrong = object(input.value); note(field.name, wrong || field.doc, wrong) } })
    else if (field.kind === "combo") { lists[field.name] = h("datalist", { id: `${id}-list` }, field.options.map((value) => h("option", { value }))); input = h("input", { ...common, type: "text", value: field.value ?? "", list: `${id}-list` }); shown = [input, lists[field.name]] }
    else if (field.kind === "preset") input = h("select", { ...common, onchange: () => { const chosen = field.presets[input.value]; note(field.name, chosen?.note ?? field.doc); if (chosen) preset(chosen) } }, options(field))
    else if (field.kind === "area") input = h("textarea", { ...common, rows: field.rows ?? 3, value: field.value ?? "", spellcheck: true })
    else if (field.kind === "choice") { input = h("select", common, options(field)) }
    else if (field.kind === "boolean") input = h("input", { ...common, type: "checkbox", checked: field.value })
    else if (field.kind === "secret") input = h("input", { ...common, type: "password", value: "", placeholder: field.value ? "kept; type to replace it" : "" })
    else if (field.kind === "number") input = h("input", { ...common, type: "text", inputMode: "decimal", value: field.value ?? "" })
    else input = h("input", { ...common, type: "text", value: field.kind === "tags" ? field.value.join(", ") : field.value ?? "" })
    inputs[field.name] = [field, input]; notes[field.name] = said
    return field.kind === "boolean"
      ? h("label", { class: "tick", htmlFor: id }, input, h("span", {}, h("b", {}, field.label), said))
      : h("label", { class: "field " + (field.wide ? "wide" : ""), htmlFor: id }, h("span", {}, field.label), shown ?? input, said)
  }
  const groups = new Map()
  const place = (field) => {
    if (!field.group) return make(field)
    const known = groups.get(field.group)
    if (known) { known.lastChild.append(make(field)); return null }
    const group = h("details", { class: "group wide" }, h("summary", {}, field.group), h("div", { class: "fields" }, make(field)))
    groups.set(field.group, group)
    return group
  }
  const general = h("small", { class: "bad general", role: "alert" })
  const el = h("div", { class: "fields" }, described.map(place), general)
  const read = ([field, input]) => {
    if (field.kind === "boolean") return input.checked
    if (field.kind === "switched") return input.disabled ? null : input.value
    if (field.kind === "tags") return input.value.split(",").map((tag) => tag.trim()).filter(Boolean)
    if (field.kind === "choice") { const found = field.options.find(([value]) => String(value ?? "") === input.value); return found ? found[0] : null }
    return input.value
  }
  return {
    el,
    values: () => Object.fromEntries(Object.entries(inputs).map(([name, pair]) => [name, read(pair)])),
    problem: (errors = {}, text = "") => {
      for (const [name, [field, input]] of Object.entries(inputs)) { note(name, errors[name] ?? (field.kind === "preset" ? field.presets[input.value]?.note : null) ?? field.doc, errors[name]); if (errors[name]) input.closest("details")?.setAttribute("open", "") }
      general.textContent = text
    },
    offer: (name, values) => lists[name]?.replaceChildren(...values.map((value) => h("option", { value }))),
    put: (values) => { for (const [name, value] of Object.entries(values)) { const [, input] = inputs[name] ?? []; if (input && (!input.value || input.value === put[name])) { input.value = value; put[name] = String(value) } } },
    focus: () => Object.values(inputs)[0]?.[1].focus(),
  }
}
