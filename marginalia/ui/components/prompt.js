export function render({ model }) {
  const list = h("div", { class: "messages" }), top = h("p", { class: "top quiet" })
  const box = h("div", { class: "prompt scroll", tabIndex: 0, role: "region", "aria-label": "Prompt" }, top, list)
  const unfolded = new Set()
  const put = (at, data) => {
    const el = message_(data, at), old = list.children[at]
    if (old?.querySelector(".text") && !old.classList.contains("folded") && el.classList.contains("folded")) { el.classList.remove("folded"); const fold = el.querySelector(":scope > button"); if (fold) fold.textContent = "fold" }
    old ? old.replaceWith(el) : list.append(el)
  }
  const say = connect(model, {
    prompt: (message) => {
      top.textContent = message.top
      for (const [at, data] of message.changed) put(at, data)
      while (list.children.length > message.total) list.lastChild.remove()
    },
  })
  return box
}
