// Small helpers that every component is given; text goes in as text, never as markup.
const h = (tag, props = {}, ...kids) => {
  const el = document.createElement(tag)
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue
    if (key === "class") el.className = value
    else if (key.startsWith("on")) el.addEventListener(key.slice(2), value)
    else if (key === "html") el.innerHTML = value // only what safe() made on the server
    else if (key in el && key !== "list") el[key] = value
    else el.setAttribute(key, value === true ? "" : value)
  }
  el.append(...kids.flat().filter((kid) => kid !== null && kid !== undefined && kid !== false))
  return el
}
// A sentence in which *a word* is stressed, as the reasons of lore entries are written.
const stressed = (text) => text.split(/\*([^*]+)\*/).map((piece, at) => at % 2 ? h("em", {}, piece) : piece)
const figure = (number) => Number(number).toLocaleString("en-US")
const remembered = (key) => { try { return JSON.parse(localStorage.getItem(key)) } catch { return null } }
const remember = (key, value) => {
  try { value === null ? localStorage.removeItem(key) : localStorage.setItem(key, JSON.stringify(value)) } catch { /* a full or forbidden storage costs the backup, not the text */ }
}
// Messages are numbered, so that one lost before the view was there is noticed; "ready" asks for everything.
const connect = (model, handlers) => {
  let next = null
  const take = (message) => {
    if (message.n !== undefined) {
      if (next !== null && message.n !== next && !message.first) { model.send_msg({ do: "ready" }); next = null; return }
      next = message.n + 1
    }
    handlers[message.type]?.(message)
  }
  model.on("msg:custom", take)
  queueMicrotask(() => model.send_msg({ do: "ready" }))
  return (what, more = {}) => model.send_msg({ do: what, ...more })
}
