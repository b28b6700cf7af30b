// A dialog over the page: a head, a place for what went wrong, and a body of two columns.
const PIECE = 384 * 1024
function shelfDialog(name, id, side, page) {
  const trouble = h("p", { class: "trouble", role: "alert", hidden: true }), note = h("span", { class: "quiet note", role: "status" })
  const dialog = h("dialog", { "aria-labelledby": id }, h("div", { class: "head" }, h("h2", { id }, name), note, h("span", { class: "gap" }), h("button", { class: "link", type: "button", "aria-label": "Close", onclick: () => dialog.close() }, "✕")), trouble, h("div", { class: "body" }, side, page))
  dialog.addEventListener("keydown", (event) => event.stopPropagation())
  dialog.addEventListener("click", (event) => { if (event.target !== dialog || event.detail === 0) return; const at = dialog.getBoundingClientRect(); if (event.clientX < at.left || event.clientX > at.right || event.clientY < at.top || event.clientY > at.bottom) dialog.close() })
  return { dialog, note, trouble, wrong: (text) => { trouble.hidden = !text; trouble.textContent = text } }
}
// Files go in pieces, one message each, so that the page stays live meanwhile.
async function sendFiles(files, say, told) {
  const given = []
  for (const [at, file] of [...files].entries()) {
    const key = `${Date.now()}-${at}`
    for (let from = 0; from === 0 || from < file.size; from += PIECE) {
      told(`${file.name}: ${Math.round(100 * from / Math.max(1, file.size))} %`)
      const bytes = new Uint8Array(await file.slice(from, from + PIECE).arrayBuffer())
      let text = ""
      for (let byte = 0; byte < bytes.length; byte += 8192) text += String.fromCharCode(...bytes.subarray(byte, byte + 8192))
      say("file", { key, data: btoa(text) })
      await new Promise((done) => setTimeout(done))
    }
    given.push({ key, name: file.name })
  }
  return given
}
