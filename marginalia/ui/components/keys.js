// Keys of the whole page. A single letter counts only while nobody types.
export function render({ model }) {
  const typing = (event) => event.composedPath().some((el) => el.tagName === "TEXTAREA" || el.tagName === "INPUT" || el.tagName === "SELECT" || el.isContentEditable)
  const name = (event) => [(event.ctrlKey || event.metaKey) && "ctrl", event.altKey && "alt", (event.ctrlKey || event.metaKey) && event.shiftKey && event.key.length === 1 && "shift", event.key.length === 1 ? event.key.toLowerCase() : event.key].filter(Boolean).join("+")
  const down = (event) => {
    const key = name(event), what = model.keys[key]
    if (!what || event.isComposing) return
    // While one types, steps back and forth are those of the typing.
    if (typing(event) && (key.endsWith("+z") || !key.includes("+") && key !== "Escape")) return
    if (event.composedPath().some((el) => el.tagName === "DIALOG")) return
    if (key !== "Escape") event.preventDefault()
    say("key", { name: what })
  }
  // In the bubbling phase: an editor or a menu that uses Escape itself keeps it from getting here.
  window.addEventListener("keydown", down)
  const narrow = window.matchMedia("(max-width: 899px)"), tight = window.matchMedia("(max-width: 1179px)")
  const measure = () => say("width", { narrow: narrow.matches, tight: tight.matches })
  for (const each of [narrow, tight]) each.addEventListener("change", measure)
  model.on("remove", () => { window.removeEventListener("keydown", down); for (const each of [narrow, tight]) each.removeEventListener("change", measure) })
  const say = connect(model, {})
  measure()
  const dot = document.createElement("span"); dot.hidden = true
  return dot
}
