// What is sent, message by message; to search, to copy, to compare with another prompt.
export function render({ model }) {
  const list = h("div", { class: "messages" }), diff = h("div", { class: "differences", hidden: true }), top = h("p", { class: "top quiet" }), meter = h("p", { class: "top quiet meter" })
  const search = h("input", { type: "search", placeholder: "Search", "aria-label": "Search the prompt" }), hits = h("span", { class: "quiet figure hits" })
  const compare = h("select", { "aria-label": "Compare with", class: "compare" })
  const copy = h("select", { "aria-label": "Copy", class: "copy" }, h("option", { value: "" }, "Copy"), ["text", "json", "curl"].map((form) => h("option", { value: form }, { text: "as text", json: "as JSON", curl: "as curl" }[form])))
  const mark = h("div", { class: "marked", hidden: true }, h("span"), h("button", { class: "link strong", onclick: () => say("now") }, "Back to now"))
  const status = h("span", { class: "quiet copied", role: "status" })
  const box = h("div", { class: "prompt" }, mark, h("div", { class: "tools" }, search, hits, compare, copy), h("div", { class: "body scroll", tabIndex: 0, role: "region", "aria-label": "Prompt" }, top, meter, status, list, diff))
  let rows = [], timer = null, query = ""
  const put = (at, found) => {
    const el = message_(rows[at], at, query, found), old = list.children[at]
    if (old?.querySelector(".text") && !query && !old.classList.contains("folded") && el.classList.contains("folded")) { el.classList.remove("folded"); const fold = el.querySelector(":scope > button"); if (fold) fold.textContent = "fold" }
    old ? old.replaceWith(el) : list.append(el)
  }
  const seek = () => { query = search.value.trim().toLowerCase(); const found = { count: 0 }; rows.forEach((_, at) => put(at, found)); tally(found.count) }
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
  const told = (text) => { status.textContent = text; setTimeout(() => { status.textContent = "" }, 4000) }
  const say = connect(model, {
    prompt: (message) => {
      top.textContent = message.top; meter.replaceChildren(...stressed(message.meter)); meter.hidden = !message.meter
      mark.hidden = !message.mark; mark.firstChild.textContent = message.mark
      rows.length = message.total
      const found = { count: 0 }
      for (const [at, data] of message.changed) { rows[at] = data; if (!query) put(at, found) }
      while (list.children.length > message.total) list.lastChild.remove()
      if (query) seek()
    },
    choices: (message) => {
      const chosen = message.against
      compare.replaceChildren(h("option", { value: "" }, chosen ? "No comparison" : "Compare with…"), ...message.choices.map(([key, name]) => h("option", { value: key, title: name }, name)))
      compare.value = chosen
    },
    diff: (message) => {
      const on = Boolean(message.diff)
      list.hidden = on; diff.hidden = !on; search.disabled = on
      diff.replaceChildren(...(on ? differences_(message.diff) : []))
    },
    copied: async (message) => told(await clip(message.text) ? `Copied: ${figure(message.text.length)} characters.` : "The browser does not let this page copy."),
  })
  return box
}
