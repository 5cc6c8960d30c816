// Mouse, fingers and keys on the map.

const WHEEL = 0.0016;

function mapInput(surface, { view, redraw, hover, leave, choose, step, cancel }) {
  const fingers = new Map();
  let dragged = 0;
  const at = (event) => {
    const box = surface.getBoundingClientRect();
    return [event.clientX - box.left - surface.clientLeft, event.clientY - box.top - surface.clientTop];
  };

  // A wheel that merely passes over the map scrolls the page; once the map has the focus, it zooms.
  surface.addEventListener(
    "wheel",
    (event) => {
      if (!event.ctrlKey && document.activeElement !== surface) return;
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 16 : 1, speed = event.ctrlKey ? 6 : 1; // a pinch on a touchpad comes so
      view().zoomAt(Math.exp(-event.deltaY * lines * WHEEL * speed), ...at(event));
      redraw();
    },
    { passive: false },
  );

  surface.addEventListener("pointerdown", (event) => {
    fingers.set(event.pointerId, at(event));
    dragged = fingers.size > 1 ? Infinity : 0;
    if (event.pointerType === "mouse") surface.setPointerCapture(event.pointerId);
  });

  surface.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId), now = at(event);
    if (!before) return hover(...now);
    if (fingers.size === 2) pinch(event.pointerId, before, now);
    else if (event.pointerType === "mouse") {
      dragged += Math.hypot(now[0] - before[0], now[1] - before[1]);
      if (dragged > 3) {
        view().move(now[0] - before[0], now[1] - before[1]);
        leave();
        redraw();
      }
    }
    if (dragged > 3 || fingers.size === 2 || event.pointerType !== "mouse") fingers.set(event.pointerId, now);
  });

  function pinch(moving, before, now) {
    const [, other] = [...fingers].find(([id]) => id !== moving);
    const middle = (a) => [(a[0] + other[0]) / 2, (a[1] + other[1]) / 2];
    const apart = (a) => Math.max(1, Math.hypot(a[0] - other[0], a[1] - other[1]));
    const [from, to] = [middle(before), middle(now)];
    view().move(to[0] - from[0], to[1] - from[1]);
    view().zoomAt(apart(now) / apart(before), ...to);
    leave();
    redraw();
  }

  const release = (event) => {
    if (fingers.delete(event.pointerId) && event.type === "pointerup" && dragged <= 3) choose(...at(event));
  };
  surface.addEventListener("pointerup", release);
  surface.addEventListener("pointercancel", release);
  surface.addEventListener("pointerleave", leave);

  const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
  const keys = {
    "+": () => view().zoomAt(1.4),
    "=": () => view().zoomAt(1.4),
    "-": () => view().zoomAt(1 / 1.4),
    0: () => view().reset(),
  };
  surface.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const arrow = ARROWS[event.key];
    if (arrow && event.shiftKey) view().move(-40 * arrow[0], 40 * arrow[1]);
    else if (arrow) step(...arrow);
    else if (event.key === "Escape") cancel();
    else if (event.key in keys) keys[event.key]();
    else return;
    event.preventDefault();
    leave();
    redraw();
  });
}
