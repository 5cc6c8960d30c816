// Points on a canvas. Each look is painted once and then stamped, which is quick for a hundred thousand of them.

const pointRadius = (count, zoom) => Math.min(7, Math.max(1.1, Math.min(4, 170 / Math.sqrt(count))) * zoom ** 0.3);

function stamp({ colour, shape }, radius, ratio) {
  const half = Math.ceil((radius * 1.4 + 1) * ratio);
  const canvas = el("canvas", { width: 2 * half, height: 2 * half });
  const pen = canvas.getContext("2d");
  pen.translate(half, half);
  pen.scale(ratio, ratio);
  const path = new Path2D(outline(shape, 0, 0, radius));
  pen.fillStyle = pen.strokeStyle = resolved(colour);
  if (shape === "hollow") {
    pen.lineWidth = Math.max(1, radius * 0.45);
    pen.stroke(path);
  } else pen.fill(path);
  return { canvas, half };
}

function paintMap(canvas, { x, y, view, colours, hidden, lit, width, height }) {
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  const pen = canvas.getContext("2d");
  pen.clearRect(0, 0, w, h);
  const radius = pointRadius(x.length, view.zoom());
  const stamps = colours.groups.map((look) => stamp(look, radius, ratio));
  const paint = (counts, alpha) => {
    pen.globalAlpha = alpha;
    for (let i = 0; i < x.length; i++) {
      const number = colours.group[i];
      if (hidden.has(number) || !counts(number)) continue;
      const [px, py] = view.toPixels(x[i], y[i]);
      if (!view.isInside(px, py, radius * 2)) continue; // also what is not a number
      const { canvas: picture, half } = stamps[number];
      pen.drawImage(picture, Math.round(px * ratio) - half, Math.round(py * ratio) - half);
    }
  };
  const behind = (number) => Boolean(colours.groups[number].behind);
  if (lit === null) {
    paint(behind, 0.5);
    paint((number) => !behind(number), 0.85);
  } else {
    paint((number) => number !== lit, 0.12);
    paint((number) => number === lit, 1);
  }
}
