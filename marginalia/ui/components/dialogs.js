const KEYS = [["Ctrl+Enter", "generate"], ["Esc", "stop; what has come is kept"], ["Alt+← Alt+→", "the other versions of the last part"], ["Alt+R", "regenerate the last part"], ["Alt+S", "swipe: another version beside it"],
  ["Alt+↑ Alt+↓", "from part to part"], ["E", "edit the part in focus, else the last one"], ["I", "to the instructions; Esc leaves them"], ["Ctrl+Z Ctrl+Shift+Z", "undo and redo of the story"], ["Ctrl+F", "search all branches"], ["1 – 5", "Budget, Lore, Prompt, Run, Panels"], ["F", "focus: nothing but the text; F or Esc leaves it"], ["B", "all books"], ["C", "contents: the chapters of this book"], ["L", "lorebooks"], ["M", "models"], [",", "settings: how the page reads, what was written"], ["P", "prompts of this book"], ["X", "extensions"], ["?", "this list"]]

export function render({ model }) {
  const title = h("h2", { id: "title" }), body = h("div", { class: "body scroll" })
  const shut = () => { dialog.close() }
  const dialog = h("dialog", { "aria-labelledby": "title" }, h("div", { class: "head" }, title, h("button", { class: "link", "aria-label": "Close", onclick: shut }, "✕")), body)
  dialog.addEventListener("click", (event) => { if (event.target === dialog) { const at = dialog.getBoundingClientRect(); if (event.clientX < at.left || event.clientX > at.right || event.clientY < at.top || event.clientY > at.bottom) shut() } })
  dialog.addEventListener("keydown", (event) => event.stopPropagation())
  dialog.addEventListener("close", () => { forms.clear(); say("closed") })
  const forms = new Map()
  const show = (heading, ...kids) => { title.textContent = heading; body.replaceChildren(...kids.flat()); if (!dialog.open) dialog.showModal(); body.scrollTop = 0 }

  function sheet(message) {
    forms.clear()
    const tabs = h("div", { class: "tabs", role: "tablist" }), pages = h("div")
    const choose = (name) => { for (const tab of tabs.children) tab.setAttribute("aria-selected", String(tab.dataset.name === name)); for (const page of pages.children) page.hidden = page.dataset.name !== name }
    for (const section of message.sections) {
      const tab = h("button", { class: "tab", role: "tab", onclick: () => choose(section.name) }, section.label); tab.dataset.name = section.name; tabs.append(tab)
      const form = fields(section.fields), note = h("span", { class: "note quiet", role: "status" }), facts = h("ul", { class: "facts", "aria-live": "polite" })
      forms.set(section.name, { form, note, facts })
      const submit = (what) => { note.textContent = "…"; facts.replaceChildren(); form.problem(); say("submit", { form: section.name, id: section.id, action: what, values: form.values() }) }
      const page = h("section", { role: "tabpanel" }, section.intro ? h("p", { class: "intro" }, section.intro) : null, form.el,
        h("div", { class: "acts" }, h("button", { class: "go", onclick: () => submit("save") }, section.save ?? "Save"), section.actions.map(([what, label]) => h("button", { class: "link", onclick: () => submit(what) }, label)), note), facts)
      page.dataset.name = section.name; pages.append(page)
    }
    show(message.title, message.sections.length > 1 ? tabs : [], pages); choose(message.open); forms.get(message.open)?.form.focus()
  }
  function result(message) {
    const each = forms.get(message.form)
    if (!each) return
    each.form.problem(message.errors ?? {}, message.ok ? "" : message.text); each.note.textContent = message.ok ? message.text : ""
    each.facts.replaceChildren(...(message.facts ?? []).map((fact) => h("li", {}, fact)))
    for (const [name, values] of Object.entries(message.offer ?? {})) each.form.offer(name, values)
    each.form.put(message.put ?? {})
  }
  const say = connect(model, {
    sheet, result, close: shut,
    prompt: (message) => show(message.title, h("p", { class: "intro" }, message.top), message.messages.map((data, at) => message_(data, at))),
    keys: () => show("Keys", h("dl", { class: "keys" }, KEYS.map(([key, what]) => h("div", {}, h("dt", {}, key.split(" ").map((one) => one === "–" ? " – " : h("kbd", {}, one))), h("dd", {}, what))))),
  })
  return dialog
}
