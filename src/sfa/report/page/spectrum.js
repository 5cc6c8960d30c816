// The singular values of a run's feature maps, epoch by epoch, before and after the spectral map.

const ROUNDING = 1e-6; // share of the largest singular value below which there is nothing but rounding
const FRAME_TIME = 450;

const hasSpectra = (run) => run.diagnostics.epochs.length > 0;

function spectrumSection(data, shown) {
  if (!data.runs.some(hasSpectra)) {
    const how = "sfa train … --set training.diagnose_every=10";
    return section("spectrum", "Spectrum over training", el("p", { class: "note" }, "No spectra were taken while training, nor alignment and effective rank. ", el("code", {}, how), " takes them every tenth epoch."));
  }
  const before = spectrumPlot("before the spectral map"), after = spectrumPlot("after the spectral map");
  const panels = el("div", { class: "panels" }, before.node, after.node);
  const absent = el("p", { class: "note", hidden: true }, "No spectra were taken while this run was trained.");
  const player = epochPlayer((frame) => draw(frame));
  let log = true, run = null, kinds = null;

  function open(number) {
    run = data.runs[number];
    const has = hasSpectra(run);
    absent.hidden = has;
    panels.hidden = player.node.hidden = !has;
    player.stop();
    if (!has) return;
    const found = run.diagnostics;
    kinds = { before: decodedRows(found.spectrum_before), after: found.spectral_map ? decodedRows(found.spectrum_after) : [] };
    after.node.hidden = kinds.after.length === 0;
    panels.classList.toggle("single", after.node.hidden);
    before.title(kinds.after.length ? "Before the spectral map, H" : "Feature map H (no spectral map)");
    after.title("After the spectral map, H̃");
    player.load(found.epochs);
  }

  function draw(frame) {
    const colour = colourOf(shown.get());
    const range = rangeOf([...kinds.before, ...kinds.after].map((row) => aboveRounding(row, log)), { log });
    const rows = run.diagnostics;
    const common = { epochs: rows.epochs, frame, colour, log, range };
    before.draw({ ...common, spectra: kinds.before, rank: decoded(rows.effective_rank_before)?.[frame] });
    if (kinds.after.length) after.draw({ ...common, spectra: kinds.after, rank: decoded(rows.effective_rank_after)?.[frame] });
  }

  const toggle = checkbox("Logarithmic", true, (checked) => {
    log = checked;
    draw(player.frame());
  });
  shown.watch(open);
  const node = section(
    "spectrum",
    "Spectrum over training",
    el("p", { class: "lead" }, "Singular values in falling order. Drag the slider, or use the arrow keys, to go through training; the faint curve is the first epoch that was looked at."),
    el("div", { class: "controls" }, runChoice(data.runs, shown), player.node, toggle),
    absent,
    panels,
  );
  open(shown.get());
  return node;
}

function aboveRounding(row, log) {
  if (!log) return row;
  const least = ROUNDING * Math.max(...row, 0);
  return Array.from(row, (value) => (value > least ? value : null));
}

function spectrumPlot(name) {
  const heading = el("h3"), rankText = el("p", { class: "fine" });
  const plot = linePlot({ label: `Singular values ${name}`, xLabel: "index i", yLabel: "singular value σᵢ", xWord: "index", height: 320 });
  const node = el("div", { class: "panel" }, heading, rankText, plot.node);
  function draw({ spectra, epochs, frame, colour, log, range, rank }) {
    const x = Array.from(spectra[frame], (_, index) => index + 1);
    const ghost = { name: `epoch ${epochs[0]}`, x, y: aboveRounding(spectra[0], log), colour: "var(--faint)", ghost: true };
    const now = { name: `epoch ${epochs[frame]}`, x, y: aboveRounding(spectra[frame], log), colour };
    rankText.textContent = isNumber(rank) ? `effective rank ${fixed(rank, 1)} of ${x.length}` : "";
    plot.update([ghost, now], { log, y: range });
  }
  return { node, draw, title: (text) => (heading.textContent = text) };
}

// A slider over the epochs with a button that goes through them.
function epochPlayer(onFrame) {
  const id = freshId("epoch");
  const slider = el("input", { type: "range", id, class: "epoch", min: 0, step: 1 });
  const output = el("output", { for: id, class: "epoch" });
  const button = el("button", { type: "button", class: "play" }, "Play");
  const node = el("div", { class: "player" }, button, el("label", { for: id }, "Epoch"), slider, output);
  let epochs = [], timer = null;

  function go(frame) {
    slider.value = String(frame);
    output.textContent = epochs[frame];
    slider.setAttribute("aria-valuetext", `epoch ${epochs[frame]}`);
    onFrame(frame);
  }
  function stop() {
    clearInterval(timer);
    timer = null;
    button.textContent = "Play";
  }
  function play() {
    if (Number(slider.value) === epochs.length - 1) go(0);
    button.textContent = "Pause";
    timer = setInterval(() => {
      go(Number(slider.value) + 1);
      if (Number(slider.value) === epochs.length - 1) stop();
    }, FRAME_TIME);
  }
  slider.addEventListener("input", () => {
    stop();
    go(Number(slider.value));
  });
  button.addEventListener("click", () => (timer === null ? play() : stop()));
  function load(given) {
    epochs = given;
    slider.max = String(epochs.length - 1);
    slider.disabled = button.disabled = epochs.length < 2;
    go(epochs.length - 1);
  }
  return { node, load, stop, frame: () => Number(slider.value) };
}
