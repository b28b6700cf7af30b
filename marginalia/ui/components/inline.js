// A component in a notebook cell: it is told everything at once, and nobody listens to what is done in it.
const still_ = (data) => {
  const heard = {}
  const model = { ...data.params, get_child: () => "", send_msg: (said) => { if (said.do === "ready") for (const message of data.messages) for (const hear of heard["msg:custom"] ?? []) hear(message) } }
  model.on = (what, then) => { for (const each of [what].flat()) (heard[each] ??= []).push(then) }
  return model
}
const dark_ = () => document.body.dataset.jpThemeLight === "false" || document.body.classList.contains("vscode-dark")
const appear_ = (id, data, styles, tries = 60) => {
  const hosts = [...document.querySelectorAll(`[data-marginalia="${id}"]`)].filter((host) => !host.shadowRoot)
  if (!hosts.length && tries) return requestAnimationFrame(() => appear_(id, data, styles, tries - 1))
  for (const host of hosts) {
    const root = host.attachShadow({ mode: "open" }), tone = () => host.classList.toggle("dark", dark_())
    root.append(h("style", {}, styles), render({ model: still_(data) }))
    new MutationObserver(tone).observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] }); tone()
  }
}
