// What the pointer is on in the picture above, to read and to act on; the arrow keys walk from part to part.
export function render({ model }) {
  const box = h("section", { class: "card scroll", tabIndex: 0, role: "group", "aria-label": "Part in the tree" })
  const button = (label, what, title) => h("button", { class: "link", title, onclick: () => say(what) }, label)
  function draw() {
    const card = model.card
    if (!card.title) { box.replaceChildren(h("p", { class: "quiet" }, "Point at a part to see what it says. A click shows it, a double click goes on from there.")); return }
    const label = h("input", { value: card.label, placeholder: "Label", "aria-label": "Label", onchange: () => say("label", { text: label.value }), onkeydown: (event) => { event.stopPropagation(); if (event.key === "Enter") label.blur() } })
    box.replaceChildren(
      h("header", {}, h("strong", { class: "figure" }, card.title), h("span", { class: "quiet figure" }, card.facts)),
      card.chosen ? h("div", { class: "acts" }, card.folded ? button(card.folded, "fold", "Show each of them, or fold them again") : "", button("Read", "read", "Show it in the text"), button("Continue here", "continue_", "The next part will follow this one (double click)"),
        button(card.bookmarked ? "★ Unmark" : "☆ Bookmark", "bookmark", "A bookmarked part is never folded away"), button(card.hoisted ? "Whole tree" : "Only below", "hoist", "Show only what is below this part"), label) : "",
      h("p", { class: "text" }, card.text), card.asked ? h("p", { class: "asked quiet" }, h("b", {}, "Instructions: "), card.asked) : "")
  }
  box.addEventListener("keydown", (event) => {
    const way = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right", Enter: "enter" }[event.key]
    if (!way || event.altKey || event.target !== box) return
    event.preventDefault(); say("walk", { way })
  })
  const say = connect(model, {})
  model.on("card", draw); draw()
  return box
}
