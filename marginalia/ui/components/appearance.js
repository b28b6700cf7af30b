// How the page looks to this person: variables on the root, which every component inherits. While only the text is shown, a way back stands in the corner.
export function render({ model }) {
  const root = document.documentElement, scheme = window.matchMedia("(prefers-color-scheme: dark)")
  const leave = h("button", { class: "leave", type: "button", title: "Show everything again (F or Esc)", onclick: () => say("leave") }, "Leave focus")
  const apply = () => { for (const [name, value] of Object.entries(model.look)) root.style.setProperty(name, value) }
  const focus = () => {
    leave.hidden = !model.focus
    for (const [name, value] of [["--mg-head", "none"], ["--mg-where", "none"], ["--mg-quiet", "0"], ["--mg-top", "60px"]]) model.focus ? root.style.setProperty(name, value) : root.style.removeProperty(name)
  }
  // The server reads the cookie at the next visit, so that the first paint has the right colours already.
  const tell = () => { document.cookie = `mg_dark=${scheme.matches ? 1 : 0}; path=/; max-age=31536000; SameSite=Strict`; say("scheme", { dark: scheme.matches }) }
  // The page's frame comes without some of the names that a screen reader says, and its edges can only be pulled: both are mended here.
  const edges = { "Resize sidebar": ["left", "Width of the left side"], "Resize contextbar": ["right", "Width of the right side"] }
  function mend(root) {
    root.querySelector(".sidebar[role=dialog]")?.setAttribute("aria-label", "Outline, tree and summaries")
    root.querySelector(".contextbar[role=dialog]")?.setAttribute("aria-label", "Budget, lore, prompt and run")
    for (const [name, [side, label]] of Object.entries(edges)) {
      const edge = root.querySelector(`[aria-label="${name}"]`)
      if (!edge) continue
      for (const [attribute, value] of Object.entries({ role: "separator", tabindex: "0", title: "Drag, or use the arrow keys", "aria-orientation": "vertical", "aria-label": label, "aria-valuemin": "0", "aria-valuemax": "900", "aria-valuenow": String(Math.round(edge.parentElement.clientWidth)) })) edge.setAttribute(attribute, value)
      edge.addEventListener("keydown", (event) => { const by = { ArrowLeft: -16, ArrowRight: 16 }[event.key]; if (by && !event.altKey) { event.preventDefault(); event.stopPropagation(); say("pull", { side, by: side === "left" ? by : -by }); edge.setAttribute("aria-valuenow", String(Math.round(edge.parentElement.clientWidth + (side === "left" ? by : -by)))) } })
    }
  }
  const watcher = new MutationObserver((changes) => { for (const root of new Set(changes.map((change) => change.target.getRootNode()))) mend(root) })
  const attach = () => {
    for (let root = leave.getRootNode(); root; root = root.host?.getRootNode()) {
      if (root === document || root.querySelector(".MuiDrawer-root, .MuiAppBar-root")) { mend(root); watcher.observe(root === document ? document.body : root, { childList: true, subtree: root !== document }) }
    }
  }
  setTimeout(attach)
  scheme.addEventListener("change", tell)
  model.on("look", apply); model.on("focus", focus)
  model.on("remove", () => { watcher.disconnect(); scheme.removeEventListener("change", tell) })
  const say = connect(model, {})
  apply(); focus(); tell()
  return leave
}
