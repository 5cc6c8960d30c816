// Scores of a run: its own, and those of what it must beat.

const isBaseline = (score) => !score.own;
const sameMeasure = (a, b) => a.protocol === b.protocol && a.metric === b.metric;

// The score that one number stands for: the run's own, of the first measure.
const mainScore = (run) => run.scores.find((score) => !isBaseline(score)) ?? null;

// What was measured, each once, in the order in which the runs have it.
function measuresOf(runs) {
  const found = [];
  for (const score of runs.flatMap((run) => run.scores)) if (!found.some((one) => sameMeasure(one, score))) found.push(score);
  return found;
}

// All metrics are in per cent, but for those of a regression.
const isInPerCent = (score) => !["r2", "rmse"].includes(score.metric);
const unitOf = (score) => (isInPerCent(score) ? ", per cent" : "");
const scoreNumber = (score, value) => (isInPerCent(score) ? fixed(value) : plain(value));
const scoreText = (score) => scoreNumber(score, score.mean) + (isNumber(score.std) ? ` ± ${scoreNumber(score, score.std)}` : "");

const splitsText = (score) => (score.values.length > 1 ? `${score.values.length} splits` : "one split");

// The row of the comparison that belongs to a score of a run.
function differenceOf(data, run, score) {
  const rows = data.comparison ?? [];
  return rows.find((row) => row.run === run.name && row.metric === score.metric) ?? null;
}

function differenceText([mean, low, high]) {
  return isNumber(low) && isNumber(high) ? `${signed(mean)} [${signed(low)}, ${signed(high)}]` : signed(mean);
}
