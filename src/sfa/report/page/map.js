// The map of the embeddings: a point an item, with what is known of it.

const PARTS = ["training part", "validation part", "test part", null];
const REACH = 14;
const KEYS = "Arrow keys go from point to point, with Shift they move the map; + and − zoom, 0 shows all, Escape lets go.";

function mapData(run) {
  const [x, y] = [decoded(run.map.x), decoded(run.map.y)];
  return {
    x, y, count: x.length,
    labels: decoded(run.labels), cluster: decoded(run.cluster), degree: decoded(run.degree), predicted: decoded(run.predicted), part: decoded(run.part), names: run.class_names,
    id: idsOf(run.ids, x.length), index: pointIndex(x, y), view: mapView(x, y),
  };
}

function mapSection(data, shown) {
  if (!data.runs.some((run) => run.map)) return null;
  const item = data.items.slice(0, -1);
  const canvas = el("canvas", { id: "map-canvas", "aria-hidden": "true" });
  const ring = el("div", { class: "ring", hidden: true });
  const readout = el("p", { class: "readout", role: "status", id: "map-readout" });
  const surface = el("div", { class: "map", id: "map-surface", tabindex: "0", role: "application", "aria-label": `Map of the ${data.items}. ${KEYS}` }, canvas, ring);
  const tip = tooltip(surface);
  const legend = el("div", { class: "legend", role: "group", "aria-label": "Groups shown on the map" });
  const how = el("p", { class: "fine" });
  const colouring = el("span");
  const known = new Map();
  let points = null, mode = null, colours = null, hidden = new Set(), lit = null, focus = -1, size = [0, 0], asked = false;

  const isShown = (i) => !hidden.has(colours.group[i]);

  function open(number) {
    const run = data.runs[number];
    if (!known.has(number)) known.set(number, mapData(run));
    points = known.get(number);
    points.view.resize(...size);
    how.textContent = [run.map.how, run.how_clustered, run.how_predicted && `Predicted labels: ${run.how_predicted}`, run.no_predictions].filter(Boolean).map((text) => `${text.replace(/\.$/, "")}.`).join(" ");
    const modes = mapModes(points), kept = modes.find(([key]) => key === mode?.[0]);
    const picker = choice("Colour by", modes.map(([key, text]) => [key, text]), (kept ?? modes[0])[0], (key) => recolour(modes.find((one) => one[0] === key)));
    colouring.replaceChildren(picker.node);
    colouring.hidden = modes.length < 2;
    recolour(kept ?? modes[0], Boolean(kept));
    if (focus >= points.count) focus = -1;
    if (focus >= 0) say(focus);
  }

  function recolour(next, keepHidden = false) {
    mode = next;
    colours = mode[2]();
    lit = null;
    if (!keepHidden) hidden = new Set();
    drawLegend();
    redraw();
  }

  function drawLegend() {
    const present = colours.groups.map((look, number) => ({ look, number })).filter(({ look }) => look.count > 0);
    legend.hidden = present.length < 2;
    const buttons = present.map(({ look, number }) => {
      const light = (value) => () => {
        lit = value;
        redraw();
      };
      const button = el(
        "button",
        { type: "button", "aria-pressed": String(!hidden.has(number)), onpointerenter: light(number), onpointerleave: light(null), onblur: light(null) },
        swatch(look), el("span", {}, look.name), el("span", { class: "count" }, whole(look.count)),
      );
      button.addEventListener("click", () => {
        if (!hidden.delete(number)) hidden.add(number);
        button.setAttribute("aria-pressed", String(!hidden.has(number)));
        lit = null;
        redraw();
      });
      return button;
    });
    const all = el("button", { type: "button", class: "quiet" }, hidden.size ? "Show all" : "Hide all");
    all.addEventListener("click", () => {
      hidden = new Set(all.textContent === "Show all" ? [] : colours.groups.keys());
      drawLegend();
      redraw();
      legend.lastElementChild.focus();
    });
    legend.replaceChildren(...buttons, all);
  }

  function redraw() {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      paint();
    });
  }

  function paint() {
    if (!size[0]) return;
    paintMap(canvas, { ...points, colours, hidden, lit, width: size[0], height: size[1] });
    placeRing();
  }

  function placeRing() {
    ring.hidden = focus < 0 || !isShown(focus);
    if (ring.hidden) return;
    const [px, py] = points.view.toPixels(points.x[focus], points.y[focus]);
    ring.style.transform = `translate(${px}px, ${py}px)`;
  }

  function factsOf(i) {
    const name = (number) => (number < 0 ? "none" : (points.names?.[number] ?? `class ${number}`));
    const found = [[item, points.id(i)]];
    if (points.labels) found.push(["label", name(points.labels[i])]);
    if (points.cluster) found.push(["cluster", String(points.cluster[i])]);
    if (points.degree) found.push(["degree", whole(points.degree[i])]);
    if (points.predicted) found.push(["predicted", name(points.predicted[i])]);
    if (points.part && PARTS[points.part[i]]) found.push(["in the", PARTS[points.part[i]]]);
    return found;
  }

  const spoken = (i) => factsOf(i).map(([what, value], row) => (row ? `, ${what} ${value}` : `${what} ${value}`)).join("");
  const say = (i) => (readout.textContent = spoken(i));

  function pick(px, py) {
    const [a, b] = points.view.toPlace(px, py);
    return points.index.nearest(a, b, REACH / points.view.scale(), isShown);
  }

  function hover(px, py) {
    const i = pick(px, py);
    if (i < 0) return leave();
    const [ax, ay] = points.view.toPixels(points.x[i], points.y[i]);
    const right = points.labels && points.predicted && points.labels[i] >= 0 && points.predicted[i] >= 0;
    const verdict = right ? (points.labels[i] === points.predicted[i] ? "right" : "wrong") : null;
    const lines = factsOf(i).map(([what, value], row) => el("div", { class: row ? "row" : "head" }, `${what} `, el("b", {}, value)));
    if (verdict) lines.push(el("div", { class: `verdict ${verdict}` }, verdict));
    tip.show(ax, ay, ...lines);
    surface.classList.add("pointing");
  }

  function leave() {
    tip.hide();
    surface.classList.remove("pointing");
  }

  function setFocus(i) {
    focus = i;
    if (i >= 0) {
      points.view.reveal(points.x[i], points.y[i]);
      say(i);
    } else readout.textContent = "";
    redraw();
  }

  function step(dx, dy) {
    const next = focus < 0 || !isShown(focus) ? fromMiddle() : points.index.towards(focus, dx, dy, isShown);
    if (next >= 0) setFocus(next);
    else readout.textContent = focus < 0 ? `No ${item} is shown.` : `${spoken(focus)}; there is none further that way`;
  }

  const fromMiddle = () => {
    const [a, b] = points.view.toPlace(size[0] / 2, size[1] / 2);
    return points.index.nearest(a, b, 1e30, isShown);
  };

  function search(text) {
    let found = -1;
    for (let i = 0; i < points.count && found < 0; i++) if (points.id(i) === text) found = i;
    for (let i = 0; i < points.count && found < 0; i++) if (points.id(i).toLowerCase().startsWith(text.toLowerCase())) found = i;
    if (found >= 0) setFocus(found);
    else readout.textContent = `No ${item} has the id ${text}.`;
  }

  mapInput(surface, {
    view: () => points.view, redraw, hover, leave, step,
    choose(px, py) {
      hover(px, py);
      setFocus(pick(px, py));
    },
    cancel: () => setFocus(-1),
  });
  onWidth(surface, (width) => {
    size = [width, Math.round(Math.min(620, Math.max(300, width * 0.62)))];
    surface.style.height = `${size[1]}px`;
    points.view.resize(...size);
    redraw();
  });
  repaint.watch(paint); // at once: a printer does not wait for the next frame
  shown.watch(open);
  open(shown.get());

  const field = el("input", { type: "search", id: "map-search", autocomplete: "off", placeholder: "id", size: 12 });
  const form = el("form", { class: "field", role: "search" }, el("label", { for: field.id }, `Find ${item}`), field, el("button", { type: "submit" }, "Find"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (field.value.trim()) search(field.value.trim());
  });
  const zoomButton = (text, label, act) => el("button", { type: "button", class: "quiet", "aria-label": label, onclick: () => (act(), redraw()) }, text);
  const zooms = el("span", { class: "zooms" }, zoomButton("+", "Zoom in", () => points.view.zoomAt(1.6)), zoomButton("−", "Zoom out", () => points.view.zoomAt(1 / 1.6)), zoomButton("Reset", "Show the whole map", () => points.view.reset()));
  return section(
    "map", "Map of the embeddings", how,
    el("div", { class: "controls" }, runChoice(data.runs, shown), colouring, form, zooms),
    legend, surface, readout,
    el("p", { class: "fine hint" }, `Point at a ${item} to see what it is; click the map and the wheel zooms, drag moves it, two fingers do both. ${KEYS}`),
  );
}
