// The page from top to bottom.

const data = JSON.parse(document.getElementById("data").textContent);

function headline({ runs }) {
  const scores = runs.map(mainScore).filter((score) => score && sameMeasure(score, mainScore(runs[0]) ?? score));
  if (!scores.length) return null;
  if (runs.length === 1) return [el("b", {}, scoreText(scores[0])), ` ${scores[0].metric}${unitOf(scores[0])}, ${scores[0].values.length > 1 ? "over" : "on"} ${splitsText(scores[0])}`];
  const means = scores.map((score) => score.mean);
  return [el("b", {}, `${scoreNumber(scores[0], Math.min(...means))} to ${scoreNumber(scores[0], Math.max(...means))}`), ` ${scores[0].metric}${unitOf(scores[0])}, of ${counted(scores.length, "run")}`];
}

function fillHeader() {
  const { name, rows } = data.runs[0].data;
  const about = [name, ...rows.map(([what, value]) => `${value} ${what}`)].join(" · ");
  const score = headline(data);
  document.getElementById("header").append(
    el("div", { class: "top" }, el("h1", {}, data.title), themeButton()),
    el("p", { class: "about" }, about),
    score ? el("p", { class: "headline" }, ...score) : "",
    ...data.commands.map((command) => el("p", { class: "command" }, el("code", {}, command), copyButton("the command", command))),
  );
}

function fillMain() {
  const shown = shared(0);
  const sections = [
    summarySection(data),
    healthSection(data),
    learningSection(data),
    spectrumSection(data, shown),
    alignmentSection(data),
    rankSection(data),
    mapSection(data, shown),
    confusionSection(data, shown),
    comparisonSection(data),
    recipeSection(data),
    versionsSection(data),
  ].filter(Boolean);
  document.getElementById("main").replaceChildren(...sections);
  const links = sections.map(({ id }) => el("li", {}, el("a", { href: `#${id}` }, id[0].toUpperCase() + id.slice(1))));
  document.getElementById("contents").append(el("ul", {}, ...links));
}

fillHeader();
fillMain();
document.getElementById("footer").append(el("p", {}, `Made ${data.made} by sfa ${data.sfa}.`));
