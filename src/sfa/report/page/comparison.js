// All scores in one table: those of the runs, and of what they must beat.

function comparisonRows(data) {
  const rows = [];
  for (const [number, run] of data.runs.entries())
    for (const score of run.scores) {
      const baseline = isBaseline(score), values = score.values.join();
      if (baseline && rows.some((row) => row.baseline && sameMeasure(row.score, score) && row.name === score.embedding && row.values === values)) continue;
      const found = baseline ? null : differenceOf(data, run, score);
      rows.push({
        run, score, baseline, values, faint: baseline,
        name: baseline ? score.embedding : run.name,
        difference: found?.difference ?? null,
        p: found?.p ?? null,
        mark: !baseline && data.runs.length > 1 ? lineSwatch({ colour: colourOf(number) }) : null,
      });
    }
  return rows.map((row) => ({ ...row, name: unambiguous(row, rows) }));
}

// Untrained encoders differ where encoders or seeds do.
function unambiguous(row, rows) {
  const alike = rows.filter((other) => other.name === row.name && sameMeasure(other.score, row.score));
  return alike.length > 1 ? `${row.name} of ${row.run.name}` : row.name;
}

function comparisonSection(data) {
  const rows = comparisonRows(data);
  if (!rows.length) return null;
  const measures = measuresOf(data.runs), several = data.runs.length > 1;
  const of = (key) => (row) => (row.baseline ? null : row.run[key]);
  const columns = [
    { name: several ? "run" : "embedding", value: (row) => row.name },
    ...(new Set(measures.map((one) => one.protocol)).size > 1 ? [{ name: "protocol", value: (row) => row.score.protocol }] : []),
    ...(measures.length > 1 ? [{ name: "metric", value: (row) => row.score.metric }] : []),
    { name: measures.length > 1 ? "mean" : measures[0].metric, value: (row) => row.score.mean, text: (row) => scoreNumber(row.score, row.score.mean), number: true },
    { name: "±", value: (row) => row.score.std, text: (row) => scoreNumber(row.score, row.score.std), number: true },
    { name: "splits", value: (row) => row.score.values.length, number: true },
  ];
  if ((data.comparison ?? []).length)
    columns.push(
      { name: "difference", value: (row) => row.difference?.[0] ?? null, text: (row) => signed(row.difference[0]), number: true },
      { name: "95 % interval", value: (row) => row.difference?.[1] ?? null, text: (row) => `[${signed(row.difference[1])}, ${signed(row.difference[2])}]`, number: true },
      { name: "p (Wilcoxon)", value: (row) => row.p, text: (row) => probability(row.p), number: true },
    );
  const counts = new Set(rows.map((row) => row.score.values.length));
  const used = columns.filter(({ name, value }) => rows.some((row) => !isMissing(value(row))) && (name !== "splits" || counts.size > 1));
  used.push(
    { name: "method", value: of("method") },
    { name: "spectral map", value: (row) => (row.baseline ? null : hasMap(row.run) ? row.run.spectral : "none") },
    { name: "epochs", value: of("epochs"), text: (row) => whole(row.run.epochs), number: true },
    { name: "seed", value: of("seed"), number: true },
    { name: "time", value: of("seconds"), text: (row) => duration(row.run.seconds), number: true },
  );
  const spread = Math.max(...counts) < 2 ? ", of one split" : `; ± is the standard deviation over the ${counts.size > 1 ? "splits" : splitsText(rows[0].score)}`;
  const notes = [
    `Scores${rows.every((row) => isInPerCent(row.score)) ? " in per cent" : ""}${spread}. A heading sorts the table.`,
    (data.comparison ?? []).length ? `Differences are from ${data.runs[0].name}, split by split.` : null,
    data.comparison_note ?? null,
  ].filter(Boolean);
  return section("comparison", "Comparison", sortableTable("Scores of the runs and of what they must beat", used, rows), el("p", { class: "fine" }, notes.join(" ")));
}
