// What the pointer is on in the picture above, to read and to act on; the arrow keys walk from part to part.
export function render({ model }) {
  const box = h("section", { class: "card scroll", tabIndex: 0, role: "group", "aria-label": "Part in the tree" })
  const button = (label, what, title) => h("button", { class: "link", title, onclick: () => say(what) }, label)
  function draw() {
    const card = model.card
    if (!card.title) { box.replaceChildren(h("p", { class: "quiet" }, "Point at a part to see what it says. A click shows it, a double click goes on from there.")); return }
    const label = h("input", { value: card.label, placeholder: "Label", "aria-label": "Label", onchange: () => say("label", { text: label.value }), onkeydown: (event) => { event.stopPropagation(); if (event.key === "Enter") label.blur() } })
    const had = box.contains(box.getRootNode().activeElement)
    box.replaceChildren(
      h("header", {}, h("strong", { class: "figure" }, card.title), h("span", { class: "quiet figure" }, card.facts)),
      card.moving ? place(card) : card.chosen ? h("div", { class: "acts" }, card.folded ? button(card.folded, "fold", "Show each of them, or fold them again") : "", button("Read", "read", "Show it in the text"), button("Continue here", "continue_", "The next part will follow this one (double click)"),
        button(card.bookmarked ? "★ Unmark" : "☆ Bookmark", "bookmark", "A bookmarked part is never folded away"), button(card.hoisted ? "Whole tree" : "Only below", "hoist", "Show only what is below this part"),
        card.movable ? button("Attach below…", "move", "Let it, with all that follows it, stand below another part") : "", label) : "",
      h("p", { class: "text" }, card.text), card.asked ? h("p", { class: "asked quiet" }, h("b", {}, "Instructions: "), card.asked) : "")
    if (had && !box.contains(box.getRootNode().activeElement)) box.focus()  // so that the arrow keys go on
  }
  // Where a part shall be attached: walk or click to the place, then say so.
  function place({ moving, folded }) {
    return h("div", { class: "place", role: "status" },
      h("p", {}, h("b", {}, `Move ${moving.what} and what follows it. `), moving.refused || `Walk or click to the part that it shall stand below; ${moving.below} is chosen.`),
      h("div", { class: "acts" }, moving.refused ? "" : button(`Attach below ${moving.below}`, "attach", "Attach it here (Enter). It can be undone."), folded ? button(folded, "fold", "Show each of them, or fold them again") : "",
        moving.rooted ? "" : h("button", { class: "link", title: "Let the story have another beginning with it", onclick: () => say("attach", { first: true }) }, "Make it a first part"), button("Cancel", "cancel", "Leave it where it is (Escape)")))
  }
  box.addEventListener("keydown", (event) => {
    const moving = model.card.moving
    if (moving && event.key === "Escape") { event.preventDefault(); event.stopPropagation(); say("cancel"); return }
    if (moving && event.key === "Enter" && event.target === box) { event.preventDefault(); if (!moving.refused) say("attach"); return }
    const way = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right", Enter: "enter" }[event.key]
    if (!way || event.altKey || (event.target !== box && (way === "enter" || event.target.tagName !== "BUTTON"))) return
    event.preventDefault(); say("walk", { way })
  })
  const say = connect(model, {})
  model.on("card", draw); draw()
  return box
}
