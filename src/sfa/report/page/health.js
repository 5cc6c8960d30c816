// Runs without labels: a table beside features, and what looks wrong.

function healthSection({ runs }) {
  const found = runs.flatMap((run, number) => run.health?.rows.map(([name, ...values], i, { length }) => ({ run, number, name, values, own: i === length - 1 })) ?? []);
  if (!found.length) return null;
  const same = (a, b) => !a.own && !b.own && `${a.name} ${a.values}` === `${b.name} ${b.values}`;
  const rows = found.filter((row, i) => found.findIndex((other) => same(row, other) || row === other) === i);
  const title = ({ own, run, name }) => (own && runs.length > 1 ? run.name : rows.filter((row) => !row.own && row.name === name).length > 1 ? `${name} of ${run.name}` : name);
  const shown = rows.map((row) => ({ ...row, faint: !row.own, name: title(row), mark: row.own && runs.length > 1 ? lineSwatch({ colour: colourOf(row.number) }) : null }));
  const { columns } = runs.find((run) => run.health).health;
  const table = sortableTable("Embeddings beside features, measured without labels", [
    { name: "embedding", value: (row) => row.name },
    ...columns.map((name, i) => ({ name, value: (row) => row.values[i], text: (row) => fixed(row.values[i], 1), number: true })),
  ], shown);
  const notes = runs.map((run) => el("p", { class: "fine" }, runs.length > 1 ? el("b", {}, `${run.name}: `) : null, (run.health?.remarks ?? []).join(" ")));
  return section("health", "Did it work?", table, ...notes, el("p", { class: "fine" }, runs[0].no_scores ?? ""));
}

function healthBlock({ health }) {
  return health.warnings.length ? health.warnings.map((text) => el("p", { class: "note" }, text)) : el("p", {}, "Nothing looks wrong, as far as can be told without labels.");
}
