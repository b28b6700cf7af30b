// A comparison by itself.
export function render({ model }) { return h("div", { class: "differences" }, differences_(model.diff)) }
