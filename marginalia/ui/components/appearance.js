// How the page looks to this person: variables on the root, which every component inherits. While only the text is shown, a way back stands in the corner.
export function render({ model }) {
  const root = document.documentElement, scheme = window.matchMedia("(prefers-color-scheme: dark)")
  const leave = h("button", { class: "leave", type: "button", title: "Show everything again (F or Esc)", onclick: () => say("leave") }, "Leave focus")
  const apply = () => { for (const [name, value] of Object.entries(model.look)) root.style.setProperty(name, value) }
  const focus = () => {
    leave.hidden = !model.focus
    for (const [name, value] of [["--mg-head", "none"], ["--mg-where", "none"], ["--mg-quiet", "0"]]) model.focus ? root.style.setProperty(name, value) : root.style.removeProperty(name)
  }
  // The server reads the cookie at the next visit, so that the first paint has the right colours already.
  const tell = () => { document.cookie = `mg_dark=${scheme.matches ? 1 : 0}; path=/; max-age=31536000; SameSite=Strict`; say("scheme", { dark: scheme.matches }) }
  scheme.addEventListener("change", tell)
  model.on("look", apply); model.on("focus", focus)
  model.on("remove", () => scheme.removeEventListener("change", tell))
  const say = connect(model, {})
  apply(); focus(); tell()
  return leave
}
