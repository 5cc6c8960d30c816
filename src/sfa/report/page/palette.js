// Colours and shapes that can be told apart, by colour-blind readers too: a colour a class, and beyond the colours
// another shape.

const COLOURS = 8;
const SHAPES = ["circle", "triangle", "square", "diamond", "cross", "hollow"];
const DASHES = ["", "7 4", "2 3", "9 3 2 3"];

const colourOf = (number) => `var(--series-${(number % COLOURS) + 1})`;
const shapeOf = (number) => SHAPES[Math.floor(number / COLOURS) % SHAPES.length];

// What a colour of the style sheet is now, for a canvas, which knows no variables.
function resolved(colour) {
  const probe = el("span", { hidden: true });
  probe.style.color = colour;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}

// Outline of a shape of radius r about (x, y), as path data of SVG, which a canvas takes as well.
function outline(shape, x, y, r) {
  const corners = (...points) => `M${points.map(([a, b]) => `${x + a * r},${y + b * r}`).join("L")}Z`;
  if (shape === "triangle") return corners([0, -1.25], [1.15, 0.8], [-1.15, 0.8]);
  if (shape === "square") return corners([-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]);
  if (shape === "diamond") return corners([0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]);
  if (shape === "cross") {
    const w = 0.42, l = 1.25;
    return corners([-w, -l], [w, -l], [w, -w], [l, -w], [l, w], [w, w], [w, l], [-w, l], [-w, w], [-l, w], [-l, -w], [-w, -w]);
  }
  return `M${x - r},${y}a${r},${r} 0 1 0 ${2 * r},0a${r},${r} 0 1 0 ${-2 * r},0Z`;
}

function swatch({ colour, shape = "circle" }) {
  const paint = shape === "hollow" ? { fill: "none", stroke: colour, "stroke-width": 2 } : { fill: colour };
  return svg(
    "svg",
    { class: "swatch", viewBox: "0 0 14 14", "aria-hidden": "true" },
    svg("path", { d: outline(shape, 7, 7, shape === "hollow" ? 4 : 4.6), ...paint }),
  );
}

function lineSwatch({ colour, dash = "" }) {
  return svg(
    "svg",
    { class: "line-swatch", viewBox: "0 0 26 14", "aria-hidden": "true" },
    svg("path", { d: "M1,7H25", stroke: colour, "stroke-width": 2.5, "stroke-dasharray": dash, fill: "none" }),
  );
}
