// What is sent, message by message; to search, to copy, to compare with another prompt.
export function render({ model }) {
  const list = h("div", { class: "messages" }), diff = h("div", { class: "differences", hidden: true }), top = h("p", { class: "top quiet" }), meter = h("p", { class: "top quiet meter" }), troubles = h("ul", { class: "troubles", role: "status", "aria-label": "What went wrong", hidden: true })
  const search = h("input", { type: "search", placeholder: "Search", "aria-label": "Search the prompt" }), hits = h("span", { class: "quiet figure hits" })
  const compare = h("select", { "aria-label": "Compare with", class: "compare" })
  const copy = h("select", { "aria-label": "Copy", class: "copy" }, h("option", { value: "" }, "Copy"), ["text", "json", "curl"].map((form) => h("option", { value: form }, { text: "as text", json: "as JSON", curl: "as curl" }[form])))
  const mark = h("div", { class: "marked", hidden: true }, h("span"), h("button", { class: "link strong", onclick: () => say("now") }, "Back to now"))
  const was = h("button", { class: "chip", type: "button", "aria-pressed": "false", title: "Exactly the messages and the sampling that were sent then", onclick: () => say("prepare", { was: true }) }, "as it was")
  const today = h("button", { class: "chip", type: "button", "aria-pressed": "false", title: "The same turn, with lore, prompts and settings as they are now", onclick: () => say("prepare", { was: false }) }, "with today's lore and settings")
  const once = h("div", { class: "once", hidden: true }, h("div", { class: "chips", role: "group", "aria-label": "Write it once more" }, h("span", { class: "quiet" }, "Once more:"), was, today))
  const plan = h("div", { class: "differences", hidden: true }), sure = h("button", { class: "go", type: "button", onclick: () => say("again") }, "Send as a new swipe")
  const deal = h("div", { class: "deal", hidden: true }, sure, h("button", { class: "link", type: "button", onclick: () => { say("leave"); was.focus() } }, "Cancel"))
  const status = h("span", { class: "quiet copied", role: "status" })
  const box = h("div", { class: "prompt" }, mark, h("div", { class: "tools" }, search, hits, compare, copy), h("div", { class: "body scroll", tabIndex: 0, role: "region", "aria-label": "Prompt" }, top, troubles, once, deal, plan, meter, status, list, diff))
  let rows = [], timer = null, query = ""
  const put = (at, found) => {
    const el = message_(rows[at], at, query, found), old = list.children[at]
    if (old?.querySelector(".text") && !query && !old.classList.contains("folded") && el.classList.contains("folded")) { el.classList.remove("folded"); const fold = el.querySelector(":scope > button"); if (fold) fold.textContent = "fold" }
    old ? old.replaceWith(el) : list.append(el)
  }
  const seek = () => { query = search.value.trim(); const found = { count: 0 }; rows.forEach((_, at) => put(at, found)); tally(found.count) }
  const tally = (count) => { hits.textContent = query ? figure(count) : "" }
  search.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(seek, 120) })
  search.addEventListener("keydown", (event) => { event.stopPropagation(); if (event.key === "Escape") { search.value = ""; seek() } })
  compare.addEventListener("change", () => say("compare", { with: compare.value }))
  copy.addEventListener("change", () => { if (copy.value) say("copy", { form: copy.value }); copy.value = "" })
  const clip = async (text) => {
    try { await navigator.clipboard.writeText(text); return true } catch { /* a page without that right: the old way */ }
    const area = h("textarea", { value: text, style: "position:fixed;opacity:0" }); box.append(area); area.select()
    const done = document.execCommand("copy"); area.remove(); return done
  }
  // What is shown below: what would be sent once more, what is different elsewhere, or the messages.
  let planned = false, compared = false
  const which = () => { list.hidden = planned || compared; diff.hidden = planned || !compared; meter.classList.toggle("away", planned); search.disabled = planned || compared; compare.disabled = planned }
  const groups = (choices) => {
    const found = new Map()
    for (const [key, name, group] of choices) { if (!found.has(group)) found.set(group, h("optgroup", { label: group })); found.get(group).append(h("option", { value: key, title: name }, name)) }
    return found.values()
  }
  const told = (text) => { status.textContent = text; setTimeout(() => { status.textContent = "" }, 4000) }
  const say = connect(model, {
    prompt: (message) => {
      top.textContent = message.top; troubles.hidden = !message.troubles.length; troubles.replaceChildren(...message.troubles.map((text) => h("li", {}, text))); meter.replaceChildren(...stressed(message.meter)); meter.hidden = !message.meter
      mark.hidden = !message.mark; mark.firstChild.textContent = message.mark
      rows.length = message.total
      const found = { count: 0 }
      for (const [at, data] of message.changed) { rows[at] = data; if (!query) put(at, found) }
      while (list.children.length > message.total) list.lastChild.remove()
      if (query) seek()
    },
    choices: (message) => {
      const chosen = message.against
      compare.replaceChildren(h("option", { value: "" }, chosen ? "No comparison" : "Compare with…"), ...groups(message.choices))
      compare.value = chosen
    },
    again: (message) => {
      const on = Boolean(message.diff)
      once.hidden = !message.offered; planned = on; deal.hidden = !on; plan.hidden = !on; sure.disabled = !message.ready
      was.setAttribute("aria-pressed", String(message.was === true)); today.setAttribute("aria-pressed", String(message.was === false))
      redraw_(plan, message.diff); which()
    },
    diff: (message) => {
      const on = Boolean(message.diff)
      compared = on; which()
      redraw_(diff, message.diff)
    },
    copied: async (message) => told(await clip(message.text) ? `Copied: ${figure(message.text.length)} characters.` : "The browser does not let this page copy."),
  })
  return box
}
