// The splits of a score as dots, one row an embedding, with a bar at the mean.

const ROW = 30;

// Heights of dots that would lie on one another, so that all can be seen; the same at every visit.
function spread(values, at) {
  const placed = [];
  return values.map((value) => {
    const x = at(value);
    let level = 0;
    while (placed.some((one) => one.level === level && Math.abs(one.x - x) < 5)) level = level > 0 ? -level : 1 - level;
    placed.push({ x, level });
    return { x, lift: Math.max(-2, Math.min(2, level)) * 4.2 };
  });
}

function splitDots(scores, range, colour) {
  const words = scores.map((score) => `${score.embedding}: ${scoreText(score)}`).join("; ");
  const picture = svg("svg", { class: "plot dots", role: "img", "aria-label": words });
  const node = el("div", { class: "frame still" }, picture);
  onWidth(node, (width) => {
    const left = 4, right = width - 4, height = scores.length * (ROW + 16) + 24;
    const across = scale({ low: range[0], high: range[1], from: left, to: right, about: width / 80 });
    fill(picture, { width, height, viewBox: `0 0 ${width} ${height}` }, []);
    const bottom = height - 20;
    const grid = across.ticks.flatMap((tick) => [
      svg("path", { class: "grid", d: `M${across.at(tick)},0V${bottom}` }),
      svg("text", { x: Math.max(10, Math.min(right - 8, across.at(tick))), y: height - 5, "text-anchor": "middle" }, across.text(tick)),
    ]);
    picture.replaceChildren(...grid, ...scores.flatMap((score, row) => dotRow(score, row, across, colour, left, right)));
  });
  return node;
}

function dotRow(score, row, across, colour, left, right) {
  const top = row * (ROW + 16), middle = top + 14 + ROW / 2;
  const paint = isBaseline(score) ? "var(--faint)" : colour;
  const dots = spread(score.values, across.at).map(({ x, lift }, split) =>
    svg("circle", { cx: x, cy: middle + lift, r: 2.6, fill: paint, "fill-opacity": 0.75 }, svg("title", {}, `split ${split + 1}: ${scoreNumber(score, score.values[split])}`)),
  );
  const at = across.at(score.mean);
  return [
    svg("text", { class: "name", x: left, y: top + 11 }, isBaseline(score) ? score.embedding : "this run"),
    svg("text", { class: "value", x: right, y: top + 11, "text-anchor": "end" }, scoreText(score)),
    ...dots,
    svg("path", { class: "mean", d: `M${at},${middle - 12}V${middle + 12}`, stroke: paint }),
  ];
}
