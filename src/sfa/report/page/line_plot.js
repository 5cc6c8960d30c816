// Curves over one axis. The nearest place is read off by pointing, or by the arrow keys: the plot is a slider over it.

const MARGIN = { top: 30, right: 14, bottom: 40, left: 50 };

// A series is {name, x, y, colour, dash, ghost, dots}; those with `ghost` are drawn faintly and not read off.
function linePlot({ label, xLabel, yLabel, xWord, height = 300, log = false, x = null, y = null, text = plain }) {
  const picture = svg("svg", { class: "plot", "aria-hidden": "true" });
  const key = el("ul", { class: "key" });
  const frame = el("div", { class: "frame", tabindex: "0", role: "slider", "aria-label": label }, picture);
  const node = el("figure", {}, key, frame);
  const tip = tooltip(frame);
  let series = [], width = 0, places = [], chosen = -1, scales = null, cursor = null;

  const read = () => series.filter((one) => !one.ghost);

  function update(next, changes = {}) {
    series = next;
    ({ log = log, x = x, y = y } = changes);
    const found = new Set();
    for (const one of read()) for (const value of one.x) found.add(value);
    places = [...found].sort((a, b) => a - b);
    chosen = Math.min(chosen, places.length - 1);
    drawKey();
    draw();
    describe();
  }

  function drawKey() {
    key.hidden = series.length < 2;
    key.replaceChildren(
      ...series.map((one) => el("li", { class: one.ghost ? "ghost" : null }, lineSwatch(one), one.name)),
    );
  }

  function axes() {
    const xs = x ?? rangeOf(series.map((one) => one.x), { room: 0.01 }) ?? [0, 1];
    const positive = log && rangeOf(series.map((one) => one.y), { log: true });
    const isLog = Boolean(positive);
    const ys = y ?? (isLog ? positive : rangeOf(series.map((one) => one.y))) ?? [0, 1];
    const inner = { left: MARGIN.left, right: width - MARGIN.right, top: MARGIN.top, bottom: height - MARGIN.bottom };
    const across = scale({ low: xs[0], high: xs[1], from: inner.left, to: inner.right, isWhole: true, about: width / 90 });
    const up = scale({ low: ys[0], high: ys[1], from: inner.bottom, to: inner.top, log: isLog, about: height / (isLog ? 36 : 55) });
    return { inner, across, up, isLog };
  }

  function draw() {
    if (!width) return;
    scales = axes();
    const { inner, across, up } = scales;
    fill(picture, { width, height, viewBox: `0 0 ${width} ${height}` }, []);
    const grid = up.ticks.map((tick) => svg("path", { class: "grid", d: `M${inner.left},${up.at(tick)}H${inner.right}` }));
    const yTicks = up.ticks.map((tick) =>
      svg("text", { x: inner.left - 8, y: up.at(tick) + 4, "text-anchor": "end" }, up.text(tick)),
    );
    const xTicks = across.ticks.map((tick) =>
      svg("text", { x: across.at(tick), y: inner.bottom + 18, "text-anchor": "middle" }, across.text(tick)),
    );
    const titles = [
      svg("text", { class: "axis", x: inner.right, y: height - 4, "text-anchor": "end" }, xLabel),
      svg("text", { class: "axis", x: 0, y: 13 }, yLabel),
    ];
    const base = svg("path", { class: "base", d: `M${inner.left},${inner.bottom}H${inner.right}` });
    cursor = svg("g", { class: "cursor" });
    picture.replaceChildren(...grid, base, ...yTicks, ...xTicks, ...titles, ...series.map(curve), cursor);
    if (chosen >= 0 && document.activeElement === frame) show();
  }

  function curve(one) {
    const { across, up, isLog } = scales;
    let d = "", pen = false, points = 0, last = "";
    for (let i = 0; i < one.x.length; i++) {
      const value = one.y[i];
      const drawn = isNumber(value) && (!isLog || value > 0);
      if (drawn) {
        last = `${across.at(one.x[i]).toFixed(1)},${up.at(value).toFixed(1)}`;
        d += (pen ? "L" : "M") + last;
        points++;
      }
      pen = drawn;
    }
    if (points === 1) d += `L${last}`; // with round ends, a dot
    return svg("path", {
      class: one.ghost ? "curve ghost" : "curve",
      d,
      stroke: one.colour,
      "stroke-dasharray": points > 1 ? one.dash : null,
      "data-series": one.name,
    });
  }

  function valueAt(one, place) {
    let low = 0, high = one.x.length - 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (one.x[middle] < place) low = middle + 1;
      else high = middle;
    }
    return one.x[low] === place ? one.y[low] : undefined;
  }

  function reading() {
    const place = places[chosen];
    return read()
      .map((one) => ({ one, value: valueAt(one, place) }))
      .filter(({ value }) => isNumber(value));
  }

  function describe() {
    fill(frame, { "aria-valuemin": places[0] ?? 0, "aria-valuemax": places.at(-1) ?? 0 }, []);
    frame.setAttribute("aria-valuenow", places[Math.max(chosen, 0)] ?? 0);
    const several = read().length > 1;
    const spoken = reading().map(({ one, value }) => `${several ? `${one.name} ` : ""}${text(value)}`);
    frame.setAttribute("aria-valuetext", chosen < 0 ? "no value read" : `${xWord} ${places[chosen]}: ${spoken.join(", ")}`);
  }

  function show() {
    const { inner, across, up, isLog } = scales;
    const found = reading(), at = across.at(places[chosen]);
    const drawn = found.filter(({ value }) => !isLog || value > 0);
    cursor.replaceChildren(
      svg("path", { class: "hair", d: `M${at},${inner.top}V${inner.bottom}` }),
      ...drawn.map(({ one, value }) => svg("circle", { cx: at, cy: up.at(value), r: 4, fill: one.colour })),
    );
    const lines = found.map(({ one, value }) =>
      el("div", { class: "row" }, read().length > 1 ? lineSwatch(one) : null, read().length > 1 ? one.name : yLabel, el("b", {}, text(value))),
    );
    tip.show(at, inner.top + 40, el("div", { class: "head" }, `${xWord} ${places[chosen]}`), ...lines);
    describe();
  }

  function hide() {
    cursor?.replaceChildren();
    tip.hide();
  }

  function point(event) {
    if (!places.length || !scales) return;
    const px = event.clientX - picture.getBoundingClientRect().left;
    let best = 0;
    for (let i = 1; i < places.length; i++)
      if (Math.abs(scales.across.at(places[i]) - px) < Math.abs(scales.across.at(places[best]) - px)) best = i;
    chosen = best;
    show();
  }

  frame.addEventListener("pointermove", point);
  frame.addEventListener("pointerdown", point);
  frame.addEventListener("pointerleave", hide);
  frame.addEventListener("blur", hide);
  frame.addEventListener("focus", () => {
    if (!places.length || !frame.matches(":focus-visible")) return;
    chosen = chosen < 0 ? places.length - 1 : chosen;
    show();
  });
  frame.addEventListener("keydown", (event) => {
    const page = Math.max(1, Math.round(places.length / 10));
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -page, PageUp: page, Home: -Infinity, End: Infinity };
    if (event.key === "Escape") return hide();
    if (!(event.key in steps) || event.altKey || event.ctrlKey || event.metaKey || !places.length) return;
    event.preventDefault();
    chosen = Math.max(0, Math.min(places.length - 1, chosen + steps[event.key]));
    show();
  });
  onWidth(frame, (now) => {
    width = now;
    draw();
  });
  return { node, update };
}
