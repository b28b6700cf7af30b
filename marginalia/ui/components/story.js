export function render({ model }) {
  const book = h("div", { class: "book" })
  const box = h("div", { class: "story scroll", tabIndex: 0, role: "region", "aria-label": "Story" }, book)
  const toEnd = h("button", { class: "toend", hidden: true, title: "To the end of the story", onclick: () => { follow = true; say("end"); pin() } }, "↓ to the end")
  const frame = h("div", { class: "frame" }, box, toEnd)
  const known = new Map() // id -> {el, body, data}
  let first = 1, last = 0, total = 0, follow = true, asking = false, live = null, current = null

  const pin = () => { if (follow) { box.scrollTop = box.scrollHeight; pinned = box.scrollTop } }
  const near = () => box.scrollHeight - box.scrollTop - box.clientHeight < 80
  let tall = 0, wide = 0, pinned = 0, place = null
  // What is read, and how far down it the page begins: so that it stands there again when the column gets other lines.
  const keep = () => { const el = shown(); if (!el) return; const at = el.getBoundingClientRect(); place = [el, (box.getBoundingClientRect().top - at.top) / at.height] }
  const hold = ([el, share]) => { const at = el.getBoundingClientRect(); box.scrollTop += at.top + share * at.height - box.getBoundingClientRect().top }
  box.addEventListener("scroll", () => {
    if (box.clientHeight !== tall || box.clientWidth !== wide) return // what stands below or beside has just grown or gone; nobody scrolled
    if (!follow || box.scrollTop !== pinned) follow = near() && last >= total // else the text has grown since it was pinned
    if (!follow) keep()
    toEnd.hidden = follow || total === 0
    if (asking) return
    if (box.scrollTop < 600 && first > 1) { asking = true; say("more", { up: true }) }
    else if (box.scrollHeight - box.scrollTop - box.clientHeight < 600 && last < total) { asking = true; say("more", { up: false }) }
  }, { passive: true })
  new ResizeObserver(pin).observe(book)
  new ResizeObserver(() => {
    if (!follow && place?.[0].isConnected && box.clientWidth !== wide) hold(place)
    tall = box.clientHeight; wide = box.clientWidth; pin()
  }).observe(box)

  // One menu, moved to the part that asks for it.
  const item = (label, what, key) => h("button", { role: "menuitem", "data-what": what, onclick: () => { const id = menu.partId; close(); act(what, id) } }, h("span", {}, label), key ? h("kbd", {}, key) : null)
  const menu = h("div", { class: "menu", role: "menu", hidden: true },
    item("Edit", "edit", "E"), item("Regenerate", "regenerate"), item("Swipe", "swipe"), item("Once more…", "rerun"), item("Branch Story", "branch"), item("Write on by hand", "write"), h("hr"),
    item("Show Prompt", "prompt"), item("Summary", "summary"), item("Revisions", "revisions"), item("Bookmark", "bookmark"), h("hr"),
    item("Split here…", "cut"), item("Merge with the one before", "merge"), item("Delete", "delete"))
  const entry = (what) => menu.querySelector(`[data-what=${what}]`)
  frame.append(menu)
  const close = () => { menu.hidden = true; menu.opener?.setAttribute("aria-expanded", "false") }
  const open = (id, opener) => {
    const data = known.get(id).data
    entry("bookmark").firstChild.textContent = data.bookmarked ? "Remove bookmark" : "Bookmark"
    entry("summary").firstChild.textContent = data.summary ? "Show summary" : "Summary"; entry("merge").disabled = data.number === 1
    menu.partId = id; menu.opener = opener; menu.hidden = false; opener.setAttribute("aria-expanded", "true")
    const at = opener.getBoundingClientRect(), inside = frame.getBoundingClientRect()
    const top = at.bottom - inside.top + 4
    menu.style.top = Math.max(8, Math.min(top, inside.height - menu.offsetHeight - 8)) + "px"
    menu.style.left = Math.max(8, Math.min(at.right - inside.left - menu.offsetWidth, inside.width - menu.offsetWidth - 8)) + "px"
    menu.querySelector("button").focus()
  }
  frame.addEventListener("pointerdown", (event) => { if (!menu.hidden && !menu.contains(event.target) && event.target !== menu.opener) close() })
  menu.addEventListener("keydown", (event) => {
    const items = [...menu.querySelectorAll("button:enabled")], at = items.indexOf(event.target)
    if (event.key === "Escape") { event.stopPropagation(); close(); menu.opener?.focus() }
    else if (event.key === "ArrowDown") { event.preventDefault(); items[(at + 1) % items.length].focus() }
    else if (event.key === "ArrowUp") { event.preventDefault(); items[(at + items.length - 1) % items.length].focus() }
  })

  let cutting = null // the part that is opened only to be split
  const act = (what, id) => { cutting = what === "cut" ? id : null; say(what === "cut" ? "edit" : what, { id }) }

  const versions = (data) => data.of > 1 ? h("span", { class: "versions" },
    h("button", { class: "link", "aria-label": "Previous version", disabled: data.at <= 1, onclick: () => say("step", { id: data.id, by: -1 }) }, "‹"),
    h("span", { class: "figure" }, `${data.at}/${data.of}`),
    h("button", { class: "link", "aria-label": "Next version", disabled: data.at >= data.of, onclick: () => say("step", { id: data.id, by: 1 }) }, "›")) : null

  function build(data) {
    const body = h("div", { class: "prose", html: data.html })
    const more = h("button", { class: "more", "aria-label": `Menu of part ${data.number}`, "aria-haspopup": "menu", "aria-expanded": "false", onclick: (event) => menu.hidden || menu.partId !== data.id ? open(data.id, event.currentTarget) : close() }, "⋯")
    const foot = h("footer", {},
      h("span", { class: "facts quiet" }, data.facts), h("span", { class: "gap" }), versions(data),
      data.last ? h("button", { class: "link", onclick: () => act("regenerate", data.id) }, "Regenerate") : null,
      data.last ? h("button", { class: "link", onclick: () => act("swipe", data.id) }, "Swipe") : null)
    const el = h("article", { class: "part" + (data.last ? " last" : "") + (data.partial ? " partial" : ""), tabIndex: -1, "aria-label": `Part ${data.number}` },
      h("span", { class: "number figure" }, `#${data.number}`,
        data.bookmarked ? h("i", { title: "Bookmarked", "aria-label": "Bookmarked" }, "★") : null, data.summary ? h("i", { title: "A summary hangs here", "aria-label": "Has a summary" }, "S") : null),
      data.label ? h("p", { class: "label" }, data.label) : null, more, body,
      data.partial ? h("p", { class: "cut" }, h("span", {}, data.partial),
        data.last ? h("button", { class: "link", title: "Have the model go on where it breaks off", onclick: () => say("continue_", { id: data.id }) }, "Continue") : null,
        h("button", { class: "link", title: "It is whole as it is", onclick: () => say("keep", { id: data.id }) }, "Keep")) : null, foot)
    el.dataset.id = data.id
    return { el, body, data }
  }

  const empty = h("div", { class: "empty" }, h("p", {}, "Nothing is written yet."), h("p", { class: "quiet" }, "Say below where the story stands and what shall happen, then press Generate."))

  function window_(message) {
    document.getElementById("mg-first")?.remove() // the text that stood in the page before this was here
    const anchor = [...known.values()].find((each) => each.el.getBoundingClientRect().bottom > box.getBoundingClientRect().top)
    const before = anchor?.el.getBoundingClientRect().top
    for (const data of message.parts) {
      const old = known.get(data.id), fresh = build(data)
      if (old?.editor) { old.data = data; continue } // somebody is typing in it
      if (old) { if (old.live && message.running === data.id) { fresh.body.replaceWith(old.body); fresh.body = old.body; fresh.live = true; fresh.el.classList.add("live"); if (live?.part === old) live.part = fresh } old.el.replaceWith(fresh.el) }
      known.set(data.id, fresh)
    }
    const wanted = new Set(message.order)
    for (const [id, each] of known) if (!wanted.has(id)) { each.el.remove(); known.delete(id) }
    let at = book.firstChild
    for (const id of message.order) {
      const el = known.get(id)?.el
      if (!el) continue
      if (el !== at) book.insertBefore(el, at)
      at = el.nextSibling
    }
    first = message.start; total = message.total; last = message.start + message.order.length - 1; asking = false
    if (total === 0 && !live) book.append(empty); else empty.remove()
    if (live && !live.part && !live.el.isConnected) book.append(live.el)
    if (live && !live.part) book.append(live.el)
    if (message.show) { const target = known.get(message.show); follow = false; if (target) reveal(target.el); flash(target?.el) }
    else if (message.end) { follow = true; pin() }
    else if (!follow && anchor?.el.isConnected) box.scrollTop += anchor.el.getBoundingClientRect().top - before
    else pin()
    toEnd.hidden = follow || total === 0
    if (words.length) paint()
  }
  // What lies above gets its real height only when it is painted; so the place is looked for again until it stays.
  let revealing = 0
  function reveal(el) {
    const mine = ++revealing
    let quiet = 0, left = 40
    const look = () => {
      if (mine !== revealing || !el.isConnected) return
      const before = box.scrollTop; box.scrollTop += el.getBoundingClientRect().top - box.getBoundingClientRect().top - 12
      quiet = Math.abs(box.scrollTop - before) < 1 ? quiet + 1 : 0
      if (quiet < 6 && --left > 0) requestAnimationFrame(look)
    }
    look()
  }
  for (const kind of ["wheel", "touchmove", "pointerdown", "keydown"]) box.addEventListener(kind, () => { revealing++ }, { passive: true })
  const flash = (el) => { if (!el) return; el.classList.remove("shown"); void el.offsetWidth; el.classList.add("shown") }

  // What is being written: inside its part where it has one already, else at the end.
  function start(id) {
    const part = known.get(id)
    const status = h("p", { class: "status quiet", role: "status" }), thoughts = h("details", { class: "thoughts", hidden: true }, h("summary", {}, "Reasoning"), h("div"))
    const done = h("div"), tail = h("div")
    const inner = [thoughts, h("div", { class: "flow" }, done, tail), status]
    if (part) { part.body.replaceChildren(...inner); part.live = true; part.el.classList.add("live"); live = { part, id, done, tail, status, thoughts } }
    else { const el = h("article", { class: "part live" }, h("div", { class: "prose" }, ...inner)); book.append(el); live = { id: null, el, done, tail, status, thoughts } }
    empty.remove()
  }
  function writing(message) {
    if (!live || (message.id && live.id !== message.id && known.has(message.id))) { live?.el?.remove(); start(message.id) }
    if (message.whole) live.done.innerHTML = message.append; else if (message.append) live.done.insertAdjacentHTML("beforeend", message.append)
    live.tail.innerHTML = message.tail
    if (message.reasoning) { live.thoughts.hidden = false; live.thoughts.lastChild.textContent = message.reasoning }
    status(message); pin()
  }
  let ticking = null
  function status(message) {
    clearInterval(ticking); const since = performance.now() - message.age * 1000, el = live.status
    const draw = () => { el.textContent = message.ticks ? `${message.status} ${Math.max(0, Math.floor((performance.now() - since) / 1000))} s` : message.status }
    draw(); if (message.ticks) ticking = setInterval(draw, 1000)
  }
  function idle() {
    clearInterval(ticking)
    if (live) { live.el?.remove(); if (live.part) { live.part.live = false; live.part.el.classList.remove("live") } }
    live = null
  }

  // Editing in place: saves by itself, Escape goes back to what it was.
  function edit(message) {
    const part = known.get(message.id)
    if (!part || part.editor) return
    const area = h("textarea", { class: "editor", "aria-label": `Text of part ${part.data.number}`, value: message.text, spellcheck: true })
    let saved = message.text, timer = null
    const save = () => { clearTimeout(timer); if (area.value !== saved) { saved = area.value; say("save", { id: message.id, text: saved }) } }
    const leave = (keep) => { if (!part.editor) return; part.editor = null; clearTimeout(timer)
      if (keep) save(); else if (saved !== message.text) say("save", { id: message.id, text: message.text })
      area.replaceWith(part.body); hint.remove(); say("refresh", { id: message.id }); part.el.focus() }
    const cut = () => { if (!part.editor) return; clearTimeout(timer); part.editor = null; saved = area.value; area.replaceWith(part.body); hint.remove()
      say("split", { id: message.id, text: area.value, at: [...area.value.slice(0, area.selectionStart)].length }) }
    const split = h("button", { class: "link", title: "What stands behind the cursor becomes a part of its own", onpointerdown: (event) => event.preventDefault(), onclick: cut }, "Split here")
    const hint = h("p", { class: "hint quiet" }, cutting === message.id ? "Put the cursor where the new part shall begin, then: " : "Saves by itself · Esc goes back to how it was · Ctrl+Enter closes", split)
    split.classList.toggle("strong", cutting === message.id); cutting = null
    area.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(save, 900) })
    area.addEventListener("keydown", (event) => { event.stopPropagation(); if (event.key === "Escape") leave(false); else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) leave(true) })
    area.addEventListener("blur", () => setTimeout(() => leave(true), 0))
    part.editor = area; part.body.replaceWith(area); area.after(hint)
    area.focus(); area.setSelectionRange(area.value.length, area.value.length)
  }
  box.addEventListener("dblclick", (event) => { const el = event.target.closest(".part"); if (el && event.altKey) say("edit", { id: +el.dataset.id }) })
  box.addEventListener("focusin", (event) => { const el = event.target.closest(".part"); if (el?.dataset.id) current = +el.dataset.id })

  const shown = () => { const top = box.getBoundingClientRect().top + 40; return [...book.querySelectorAll(".part[data-id]")].find((el) => el.getBoundingClientRect().bottom > top) }
  const inSight = (el) => { const part = el.getBoundingClientRect(), page = box.getBoundingClientRect(); return part.bottom > page.top && part.top < page.bottom }
  function command(message) {
    if (message.name === "edit") { const id = current && known.has(current) ? current : +([...book.querySelectorAll(".part[data-id]")].pop()?.dataset.id ?? 0); if (id) say("edit", { id }) }
    else { // from the part that has the focus, as long as it is in sight; else from the one at the top, or up from the end
      const all = [...book.querySelectorAll(".part[data-id]")], by = message.name === "next" ? 1 : -1, held = box.getRootNode().activeElement?.closest(".part[data-id]")
      const at = held && inSight(held) ? all.indexOf(held) + by : follow && by < 0 ? all.length - 1 : all.indexOf(shown()) + by, el = all[Math.max(0, Math.min(all.length - 1, at))]
      if (el) { follow = false; el.scrollIntoView({ block: "start", behavior: "smooth" }); el.focus({ preventScroll: true }) } }
  }
  // What is searched for is marked without touching the text: highlights are ranges that the browser paints.
  let words = []
  const marks = (message) => { words = message.words; paint() }
  function paint() {
    if (!window.CSS?.highlights) return
    const ranges = []
    if (words.length) for (const { body } of known.values()) {
      const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT)
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const low = node.data.toLowerCase()
        if (low.length !== node.data.length) continue
        for (const word of words) for (let at = low.indexOf(word); at >= 0; at = low.indexOf(word, at + word.length)) { const range = new Range(); range.setStart(node, at); range.setEnd(node, at + word.length); ranges.push(range) }
      }
    }
    CSS.highlights.set("mg-found", new Highlight(...ranges))
  }
  const reset = () => { known.clear(); book.replaceChildren(); live = null; clearInterval(ticking); follow = true }
  const say = connect(model, { window: window_, writing, idle, edit, command, reset, marks })
  return frame
}
