// The keys of an entry as chips; one line below them edits the chosen one, or makes another.
function keychips(given, roles, changed) {
  let keys = given.map((key) => ({ ...key })), chosen = -1, faults = {}
  const list = h("div", { class: "keys" })
  const pick = (label, options) => h("select", { "aria-label": label, title: label, onchange: () => apply() }, options.map(([value, text]) => h("option", { value }, text)))
  const tick = (label, help) => { const box = h("input", { type: "checkbox", onchange: () => apply() }); return [h("label", { class: "small", title: help }, box, label), box] }
  const text = h("input", { type: "text", "aria-label": "Key", placeholder: "Add a key, then Enter", autocomplete: "off" })
  const role = pick("How keys work together", Object.entries(roles)), kind = pick("Kind of key", [["plain", "words"], ["wildcard", "with * and ?"], ["regex", "regular expression"]])
  const [word, wordBox] = tick("whole word", "Not inside a longer word"), [letter, letterBox] = tick("Aa", "Capitals count")
  const done = h("button", { class: "link", type: "button", onclick: () => (chosen < 0 ? add() : release()) }, "Add")
  const fault = h("small", { class: "bad", role: "alert" })
  const el = h("div", { class: "keybox", role: "group", "aria-label": "Keys" }, h("span", { class: "quiet" }, "Keys"), list, h("div", { class: "keyline" }, text, role, kind, word, letter, done), fault)
  const typed = () => ({ role: role.value, text: text.value, kind: kind.value, case: letterBox.checked, word: wordBox.checked })
  const sorted = () => { const order = Object.keys(roles), mine = keys[chosen]; keys = order.flatMap((each) => keys.filter((key) => key.role === each)); chosen = keys.indexOf(mine) }
  const tell = () => { sorted(); draw(); changed() }
  const add = () => { if (!text.value.trim()) return; keys.push(typed()); text.value = ""; tell(); text.focus() }
  const release = () => { chosen = -1; text.value = ""; draw(); text.focus() }
  const apply = () => { if (chosen >= 0) { keys[chosen] = typed(); tell() } }
  const choose = (at) => { if (chosen === at) return release(); chosen = at; const key = keys[at]; text.value = key.text; role.value = key.role; kind.value = key.kind; wordBox.checked = key.word; letterBox.checked = key.case; draw(); text.focus() }
  const remove = (at) => { keys.splice(at, 1); chosen = -1; text.value = ""; tell() }
  text.addEventListener("input", () => apply())
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { event.preventDefault(); event.stopPropagation(); chosen < 0 ? add() : release() }
    else if (event.key === "Escape" && chosen >= 0) { event.stopPropagation(); release() }
    else if (event.key === "Backspace" && !text.value && chosen < 0 && keys.length) remove(keys.length - 1)
  })
  function draw() {
    let before = null
    list.replaceChildren(...keys.flatMap((key, at) => {
      const head = key.role !== before && (key.role !== "any" || before) ? h("span", { class: "role quiet" }, roles[key.role]) : null
      before = key.role
      const how = [{ wildcard: "*?", regex: ".*" }[key.kind], key.word && "word", key.case && "Aa"].filter(Boolean).join(" ")
      return [head, h("span", { class: "key" + (at === chosen ? " chosen" : "") + (faults[at] ? " wrong" : ""), title: faults[at] },
        h("button", { type: "button", "aria-pressed": String(at === chosen), "aria-label": `Key ${key.text}`, onclick: () => choose(at) }, key.text, how ? h("i", {}, how) : null),
        h("button", { type: "button", "aria-label": `Remove key ${key.text}`, onclick: () => remove(at) }, "×"))].filter(Boolean)
    }))
    done.textContent = chosen < 0 ? "Add" : "Done"
    fault.textContent = Object.values(faults)[0] ?? ""; fault.hidden = !fault.textContent
  }
  draw()
  return { el, values: () => keys, problem: (found) => { if (JSON.stringify(found) !== JSON.stringify(faults)) { faults = found; draw() } } }
}
