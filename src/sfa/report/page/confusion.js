// Which labels are taken for which: a table, with colour.

function confusionSection(data, shown) {
  if (!data.runs.some((run) => run.confusion || run.no_confusion)) return null;
  const item = data.items.slice(0, -1);
  const place = el("div"), readout = el("p", { class: "readout", role: "status" });
  let shares = true;
  function draw() {
    const run = data.runs[shown.get()];
    readout.textContent = "";
    place.replaceChildren(run.confusion ? confusionTable(run, data.items, shares, (text) => (readout.textContent = text)) : el("p", { class: "note" }, run.no_confusion ?? run.no_predictions ?? "This run has no predicted labels."));
  }
  const toggle = checkbox("Per cent of each row", true, (checked) => {
    shares = checked;
    draw();
  });
  shown.watch(draw);
  draw();
  return section(
    "confusion", "Confusion matrix",
    el("div", { class: "controls" }, runChoice(data.runs, shown), toggle),
    place, readout,
    el("p", { class: "fine" }, `Rows are labels, columns what was predicted. Point at a cell, or go there with the arrow keys, to read how many ${item}s it counts.`),
  );
}

function confusionTable(run, items, shares, say) {
  const { matrix, of } = run.confusion;
  const name = (number) => run.class_names?.[number] ?? `class ${number}`;
  const columns = matrix.map((_, column) => el("th", { scope: "col" }, el("span", {}, name(column))));
  const cells = [];
  const rows = matrix.map((counts, row) => {
    const total = counts.reduce((sum, count) => sum + count, 0);
    cells.push(counts.map((count, column) => confusionCell({ count, total, row, column, shares, name, items, say })));
    return el("tr", {}, el("th", { scope: "row" }, name(row)), ...cells[row], el("td", { class: "total" }, whole(total)));
  });
  roving(cells);
  const right = matrix.reduce((sum, counts, row) => sum + counts[row], 0), all = matrix.flat().reduce((sum, count) => sum + count, 0);
  return scrollable(
    "Confusion matrix",
    el(
      "table", { class: matrix.length > 12 ? "confusion many" : "confusion" },
      captionOf(`${of}: ${whole(right)} of ${whole(all)} right${all ? ` (${fixed((100 * right) / all, 1)} %)` : ""}`),
      el("thead", {}, el("tr", {}, el("td", { class: "corner" }, "label \\ predicted"), ...columns, el("th", { scope: "col", class: "total" }, el("span", {}, "all")))),
      el("tbody", {}, ...rows),
    ),
  );
}

function confusionCell({ count, total, row, column, shares, name, items, say }) {
  const share = total ? (100 * count) / total : 0;
  const text = shares ? (count ? (share < 0.5 ? "<1" : fixed(share, 0)) : "") : count ? whole(count) : "";
  const kind = row === column ? "right" : "wrong";
  const cell = el("td", { class: kind, tabindex: "-1" }, text || el("span", { class: "away" }, "0"));
  cell.style.setProperty("--share", `${share.toFixed(1)}%`);
  const tell = () => say(`${whole(count)} of ${whole(total)} ${items} with the label ${name(row)} were predicted as ${name(column)} (${fixed(share, 1)} %).`);
  cell.addEventListener("pointerenter", tell);
  cell.addEventListener("focus", tell);
  return cell;
}

// One stop for the Tab key; the arrow keys go from cell to cell.
function roving(cells) {
  cells[0]?.[0]?.setAttribute("tabindex", "0");
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  cells.forEach((line, row) =>
    line.forEach((cell, column) =>
      cell.addEventListener("keydown", (event) => {
        const [down, right] = steps[event.key] ?? [0, 0];
        const next = cells[row + down]?.[column + right];
        if (!(event.key in steps) || event.altKey || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        if (!next) return;
        cell.setAttribute("tabindex", "-1");
        next.setAttribute("tabindex", "0");
        next.focus();
      }),
    ),
  );
}
