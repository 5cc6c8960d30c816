// Curves over the epochs: the loss, an online probe, and the diagnostics.

const AFTER = "7 4";

function curvesOver(runs, pick) {
  return runs.flatMap((run, number) => {
    const several = runs.length > 1;
    return pick(run).map(({ name, x, y, dash = "" }) => ({
      name: several ? (name ? `${run.name}, ${name}` : run.name) : name || run.name,
      x,
      y,
      dash: dash || (number < COLOURS ? "" : DASHES[2]),
      colour: colourOf(number),
    }));
  });
}

const hasValues = (list) => Boolean(list) && list.some(isNumber);

function plotOver({ label, yLabel, log = false, height, series, text }) {
  const plot = linePlot({ label, xLabel: "epoch", yLabel, xWord: "epoch", log, height, text });
  plot.update(series);
  return plot.node;
}

function learningSection(data) {
  const series = curvesOver(data.runs, (run) => [{ name: "", x: decoded(run.curve.epoch), y: decoded(run.curve.loss) }]);
  if (!series.some((one) => hasValues([...one.y]))) return null;
  const loss = plotOver({ label: "Loss over the epochs", yLabel: "loss", series: [...series, ...chanceLines(data.runs)] });
  const probes = curvesOver(data.runs, (run) => onlineCurves(run.online));
  const online = probes.length
    ? [el("h3", {}, "Online probe"), plotOver({ label: "Accuracy of the online probe", yLabel: "per cent", series: probes, height: 240 })]
    : [];
  const several = new Set(data.runs.map((run) => run.method)).size > 1;
  const chance = data.runs.some((run) => isNumber(run.chance)) ? "By chance: the loss of a model that tells nothing apart. A good loss is below it, and need not come near 0." : null;
  const hint = several ? "Losses of different methods are not on one scale: compare the shapes, not the heights." : null;
  return section("learning", "Learning curve", loss, ...[chance, hint].map((text) => text && el("p", { class: "fine" }, text)), ...online);
}

// A line for each chance level, which several runs may share.
function chanceLines(runs) {
  const levels = [...new Set(runs.map((run) => run.chance).filter(isNumber))];
  return levels.map((level) => {
    const those = runs.filter((run) => run.chance === level);
    const x = [1, Math.max(2, ...those.map((run) => run.epochs))];
    const name = levels.length > 1 ? `by chance, ${those.map((run) => run.name).join(", ")}` : "by chance";
    return { name, x, y: [level, level], colour: "var(--faint)", dash: DASHES[2], ghost: true };
  });
}

function onlineCurves(online) {
  if (!online) return [];
  const { epochs, ...rest } = online;
  return Object.entries(rest)
    .filter(([, values]) => hasValues(decoded(values)))
    .map(([name, values], number) => ({ name: name.replaceAll("_", " "), x: decoded(epochs), y: decoded(values), dash: DASHES[number % DASHES.length] }));
}

// A quantity before the spectral map and, where there is one, after it.
function beforeAndAfter(runs, before, after) {
  return curvesOver(runs, (run) => {
    const found = run.diagnostics, x = found.epochs;
    const [b, a] = [decoded(found[before]), decoded(found[after])];
    if (!hasValues(b ? [...b] : null)) return [];
    const changed = found.spectral_map && hasValues(a ? [...a] : null);
    return [{ name: changed ? "before the map" : "", x, y: b }, ...(changed ? [{ name: "after the map", x, y: a, dash: AFTER }] : [])];
  });
}

function panel(runs, { title, about, before, after, yLabel, log = false }) {
  const series = beforeAndAfter(runs, before, after);
  if (!series.length) return null;
  return el("div", { class: "panel" }, el("h3", {}, title), el("p", { class: "fine" }, about), plotOver({ label: `${title} over the epochs`, yLabel, log, series, height: 260 }));
}

function alignmentSection({ runs }) {
  const panels = [
    panel(runs, {
      title: "Distance of the two views",
      about: "Squared distance of the two views’ feature maps. It need not fall: it also grows when the maps grow.",
      before: "alignment_before", after: "alignment_after", yLabel: "squared distance", log: true,
    }),
    panel(runs, {
      title: "Distance over size",
      about: "The same over the maps’ mean squared size: 0 for equal views, 2 for unrelated, 4 for opposite ones. Views that are different nodes stay near 2.",
      before: "relative_alignment", after: "relative_alignment_after", yLabel: "relative distance",
    }),
  ].filter(Boolean);
  return panels.length ? section("alignment", "Alignment", el("div", { class: "panels" }, ...panels)) : null;
}

function rankSection({ runs }) {
  const panels = [
    panel(runs, {
      title: "Effective rank",
      about: "How many directions the feature map uses: the exponential of the entropy of its singular values. Near 1 it has collapsed; more is not better.",
      before: "effective_rank_before", after: "effective_rank_after", yLabel: "effective rank",
    }),
    panel(runs, {
      title: "Uniformity",
      about: "How evenly rows spread over directions: 0 if all point the same way, and the lower the more evenly.",
      before: "uniformity", after: "uniformity_after", yLabel: "uniformity",
    }),
  ].filter(Boolean);
  const title = panels.length > 1 ? "Rank and uniformity" : "Effective rank";
  if (panels.length === 1) panels[0].querySelector("h3").remove();
  return panels.length ? section("rank", title, el("div", { class: "panels" }, ...panels)) : null;
}
