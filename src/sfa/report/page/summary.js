// A card a run: what it is, and how good it is beside what it must beat.

function facts(pairs) {
  const shown = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return el("dl", { class: "facts" }, ...shown.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

const hasMap = (run) => Boolean(run.spectral) && run.spectral !== "none";

function epochsText(run) {
  return isNumber(run.planned) && run.planned !== run.epochs ? `${whole(run.epochs)} of ${whole(run.planned)}` : whole(run.epochs);
}

function runFacts(run) {
  return facts([
    ["method", run.method],
    ["spectral map", hasMap(run) ? run.spectral : "none"],
    ["epochs", epochsText(run)],
    ["seed", String(run.seed)],
    ["time", duration(run.seconds)],
  ]);
}

function scoreBlock(data, run, measure, range, colour) {
  const scores = run.scores.filter((score) => sameMeasure(score, measure));
  const own = scores.find((score) => !isBaseline(score));
  if (!own) return null;
  const row = differenceOf(data, run, own);
  const against = row?.difference
    ? el("p", { class: "difference" }, el("b", {}, differenceText(row.difference)), ` against ${data.runs[0].name}`, isNumber(row.p) ? `, p = ${probability(row.p)}`.replace("= <", "<") : "")
    : null;
  return el(
    "div",
    { class: "score" },
    data.runs.length > 1 ? el("p", { class: "headline" }, el("b", {}, scoreText(own)), ` ${own.metric}${unitOf(own)}`) : null,
    el("p", { class: "fine" }, `${data.runs.length > 1 ? "" : `${own.metric}${unitOf(own)}: `}${own.protocol}, ${splitsText(own)}`),
    against,
    splitDots(scores, range, colour),
  );
}

function card(data, run, number) {
  const [first, ...others] = measuresOf([run]);
  const colour = colourOf(number);
  const rangeFor = (measure) => rangeOf(data.runs.flatMap((one) => one.scores.filter((score) => sameMeasure(score, measure)).map((score) => score.values)), { room: 0.04 });
  const block = (measure) => scoreBlock(data, run, measure, rangeFor(measure), colour);
  return el(
    "article",
    { class: "card" },
    el("h3", {}, data.runs.length > 1 ? lineSwatch({ colour, dash: DASHES[0] }) : null, run.name),
    el("div", {}, runFacts(run), ...(run.remarks ?? []).map((remark) => el("p", { class: "note" }, remark))),
    el(
      "div",
      {},
      first ? block(first) : run.health ? healthBlock(run) : el("p", { class: "note" }, run.no_scores ?? "This run has no scores."),
      others.length ? el("details", {}, el("summary", {}, counted(others.length, "other measure")), ...others.map(block)) : null,
    ),
    run.command ? el("p", { class: "command" }, el("code", {}, run.command), copyButton("the command of this run", run.command)) : null,
  );
}

function summarySection(data) {
  const { name, description } = data.protocol ?? {};
  const protocol = name ? el("p", { class: "fine" }, el("b", {}, name), `: ${description}`) : null;
  const scores = data.runs.flatMap((run) => run.scores), several = scores.some((score) => score.values.length > 1);
  const marks = several ? "A dot is a split, the bar their mean; ± is the standard deviation over the splits." : "The bar is the score on the one split.";
  const dots = scores.length ? el("p", { class: "fine" }, `${marks} Grey: what the run must beat.`) : null;
  return section("summary", "Summary", el("div", { class: [2, 4].includes(data.runs.length) ? "cards in-twos" : "cards" }, ...data.runs.map((run, number) => card(data, run, number))), dots, protocol);
}
