// Recipes and versions, for whoever wants to do the same again.

// Lines of YAML, each with the keys that lead to it, so that equal lines of different parts are not mixed up.
function yamlLines(text) {
  const above = [];
  return text.replace(/\n$/, "").split("\n").map((line) => {
    const indent = line.search(/\S|$/);
    while (above.length && above.at(-1).indent >= indent) above.pop();
    const path = [...above.map((one) => one.line.trim()), line.trim()].join(" / ");
    above.push({ indent, line });
    return { line, path };
  });
}

function recipeSection(data) {
  const first = new Set(yamlLines(data.runs[0].recipe).map(({ path }) => path));
  const recipes = data.runs.map((run, number) => {
    const lines = yamlLines(run.recipe).map(({ line, path }) => (first.has(path) ? `${line}\n` : el("mark", {}, `${line}\n`)));
    const body = [copyButton(`the recipe of ${run.name}`, run.recipe), el("pre", { tabindex: "0", "aria-label": `Recipe of ${run.name}` }, ...lines)];
    return el("details", { class: "recipe", open: data.runs.length === 1 }, el("summary", {}, number || data.runs.length > 1 ? run.name : "recipe.yaml"), ...body);
  });
  const note = data.runs.length > 1 ? el("p", { class: "fine" }, `Marked: what differs from ${data.runs[0].name}.`) : null;
  return section("recipe", "Recipe", note, ...recipes);
}

function versionsSection(data) {
  const packages = [...new Set(data.runs.flatMap((run) => Object.keys(run.versions ?? {})))];
  if (!packages.length) return null;
  const texts = data.runs.map((run) => JSON.stringify(run.versions));
  const columns = new Set(texts).size > 1 ? data.runs : [data.runs[0]];
  const head = columns.length > 1 ? columns.map((run) => run.name) : ["version"];
  const table = el(
    "table", {},
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "package"), ...head.map((text) => el("th", { scope: "col" }, text)))),
    el("tbody", {}, ...packages.map((name) => el("tr", {}, el("th", { scope: "row" }, name), ...columns.map((run) => el("td", {}, run.versions[name] ?? "–"))))),
  );
  return section("versions", "Versions", scrollable("Versions", table));
}
