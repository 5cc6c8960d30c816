// From places on the map to pixels: one scale for both axes, moved and zoomed.

const MAP_PADDING = 24;
const MAX_ZOOM = 200;

function mapView(x, y) {
  const [left, right] = rangeOf([x], { room: 0 }) ?? [0, 1], [low, high] = rangeOf([y], { room: 0 }) ?? [0, 1];
  let width = 1, height = 1, zoom = 1, middle = [(left + right) / 2, (low + high) / 2];

  const fitted = () => {
    const across = right > left ? (width - 2 * MAP_PADDING) / (right - left) : Infinity;
    const up = high > low ? (height - 2 * MAP_PADDING) / (high - low) : Infinity;
    const best = Math.min(across, up);
    return Number.isFinite(best) ? best : 1;
  };
  const view = {
    resize: (w, h) => ([width, height] = [w, h]),
    reset() {
      zoom = 1;
      middle = [(left + right) / 2, (low + high) / 2];
    },
    scale: () => fitted() * zoom,
    zoom: () => zoom,
    toPixels: (a, b) => [width / 2 + (a - middle[0]) * view.scale(), height / 2 - (b - middle[1]) * view.scale()],
    toPlace: (px, py) => [middle[0] + (px - width / 2) / view.scale(), middle[1] - (py - height / 2) / view.scale()],
    move(dx, dy) {
      middle = [middle[0] - dx / view.scale(), middle[1] + dy / view.scale()];
      clamp();
    },
    // What lies under (px, py) stays there.
    zoomAt(factor, px = width / 2, py = height / 2) {
      const [a, b] = view.toPlace(px, py);
      zoom = Math.max(1, Math.min(MAX_ZOOM, zoom * factor));
      const [c, d] = view.toPlace(px, py);
      middle = [middle[0] + a - c, middle[1] + b - d];
      clamp();
    },
    // Moves as little as shows the place well inside.
    reveal(a, b) {
      const [px, py] = view.toPixels(a, b), room = Math.min(60, width / 6, height / 6);
      const excess = (at, size) => (at < room ? at - room : at > size - room ? at - size + room : 0);
      if (px < 0 || px > width || py < 0 || py > height || zoom > 1) view.move(-excess(px, width), -excess(py, height));
    },
    isInside: (px, py, margin) => px > -margin && py > -margin && px < width + margin && py < height + margin,
  };
  // The middle of the window stays on the map, so that no one gets lost.
  function clamp() {
    middle = [Math.max(left, Math.min(right, middle[0])), Math.max(low, Math.min(high, middle[1]))];
    if (zoom === 1) view.reset();
  }
  return view;
}
