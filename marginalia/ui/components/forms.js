// A form made from the description of a param class: label, help, bounds, choices; one place for every field.
function fields(described) {
  const inputs = {}, notes = {}
  const make = (field) => {
    const id = `f-${field.name}`, note = h("small", { id: `${id}-doc` }, field.doc)
    const common = { id, "aria-label": field.label, "aria-describedby": `${id}-doc`, name: field.name, autocomplete: "off" }
    let input
    if (field.kind === "area") input = h("textarea", { ...common, rows: field.rows ?? 3, value: field.value ?? "", spellcheck: true })
    else if (field.kind === "choice") { input = h("select", common, field.options.map(([value, label]) => h("option", { value: String(value ?? ""), selected: value === field.value }, label))) }
    else if (field.kind === "boolean") input = h("input", { ...common, type: "checkbox", checked: field.value })
    else if (field.kind === "secret") input = h("input", { ...common, type: "password", value: "", placeholder: field.value ? "kept; type to replace it" : "" })
    else if (field.kind === "number") input = h("input", { ...common, type: "text", inputMode: "decimal", value: field.value ?? "" })
    else input = h("input", { ...common, type: "text", value: field.kind === "tags" ? field.value.join(", ") : field.value ?? "" })
    inputs[field.name] = [field, input]; notes[field.name] = note
    return field.kind === "boolean"
      ? h("label", { class: "tick", htmlFor: id }, input, h("span", {}, h("b", {}, field.label), note))
      : h("label", { class: "field " + (field.wide ? "wide" : ""), htmlFor: id }, h("span", {}, field.label), input, note)
  }
  const general = h("small", { class: "bad general", role: "alert" })
  const el = h("div", { class: "fields" }, described.map(make), general)
  const read = ([field, input]) => {
    if (field.kind === "boolean") return input.checked
    if (field.kind === "tags") return input.value.split(",").map((tag) => tag.trim()).filter(Boolean)
    if (field.kind === "choice") { const found = field.options.find(([value]) => String(value ?? "") === input.value); return found ? found[0] : null }
    return input.value
  }
  return {
    el,
    values: () => Object.fromEntries(Object.entries(inputs).map(([name, pair]) => [name, read(pair)])),
    problem: (errors = {}, text = "") => {
      for (const [name, [field]] of Object.entries(inputs)) { notes[name].textContent = errors[name] ?? field.doc; notes[name].className = errors[name] ? "bad" : "" }
      general.textContent = text
    },
    focus: () => Object.values(inputs)[0]?.[1].focus(),
  }
}
