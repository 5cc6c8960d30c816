// Elements of HTML and SVG. Text goes in as text, never as markup.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);

const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

let names = 0;
const freshId = (stem) => `${stem}-${++names}`;

// A section with a heading and an anchor; the contents at the top are made from these.
function section(id, title, ...children) {
  const heading = el("h2", { id: `${id}-title` }, title);
  return el("section", { id, "aria-labelledby": heading.id }, heading, ...children);
}

function choice(label, options, chosen, onChange) {
  const id = freshId("choice");
  const select = el("select", { id, onchange: () => onChange(select.value) });
  for (const [value, text] of options) select.append(el("option", { value }, text));
  select.value = chosen;
  return { node: el("span", { class: "field" }, el("label", { for: id }, label), select), select };
}

function checkbox(label, checked, onChange) {
  const box = el("input", { type: "checkbox", checked, onchange: () => onChange(box.checked) });
  return el("label", { class: "check" }, box, label);
}

// Draws now, and again whenever the width that there is to draw on has changed.
function onWidth(node, draw) {
  let width = 0;
  new ResizeObserver(() => {
    if (node.clientWidth === width || node.clientWidth === 0) return;
    width = node.clientWidth;
    draw(width);
  }).observe(node);
}

// A caption that stays in sight while its table is scrolled.
const captionOf = (text) => el("caption", {}, el("span", {}, text));

function scrollable(label, ...children) {
  return el("div", { class: "scroll", role: "region", "aria-label": label, tabindex: "0" }, ...children);
}
