// The table of results.md: filters, sorting, pages and copying; its state is in the hash of the address.
"use strict";
(() => {
  const { fields, rows: lists } = window.sfaResults;
  const rows = lists.map((list) => Object.fromEntries(fields.map((field, i) => [field, list[i]])));
  const PAGE = 50;
  const BUDGETS = {
    full: "half of the published epochs or more",
    short: "less than half (grey)",
    none: "not trained, or none published",
  };
  const FILTERS = { method: "Method", map: "Spectral map", data: "Data set", protocol: "Protocol", metric: "Metric" };
  const COLUMNS = {
    method: "Method",
    map: "Map",
    data: "Data",
    protocol: "Protocol",
    metric: "Metric",
    mean: "Score",
    seeds: "Seeds",
    epochs: "Epochs",
    share: "Of published",
  };

  for (const row of rows) {
    row.share = row.published ? row.epochs / row.published : null;
    row.size = row.share === null ? "none" : row.share < 0.5 ? "short" : "full";
    row.lines = row.seeds.flatMap((seed) => row.commands.map((line) => line.replaceAll("SEED", seed)));
    row.text = [row.method, row.map, row.data, row.protocol, row.metric, row.budget, row.studies, row.recipe, ...row.lines]
      .join(" ")
      .toLowerCase();
  }

  /** Make an element with attributes, properties and children. */
  function make(tag, given = {}, ...children) {
    const element = document.createElement(tag);
    for (const [key, value] of Object.entries(given)) {
      if (key in element) element[key] = value;
      else element.setAttribute(key, value);
    }
    element.append(...children);
    return element;
  }

  const place = document.getElementById("results");
  const inputs = { q: make("input", { type: "search", id: "results-q", placeholder: "any words" }) };
  for (const field of Object.keys(FILTERS)) {
    const values = [...new Set(rows.map((row) => row[field]))].sort();
    inputs[field] = select(field, values.map((value) => [value || "-", value || "–"]));
  }
  inputs.budget = select("budget", Object.entries(BUDGETS));
  const labels = { q: "Search", ...FILTERS, budget: "Budget" };
  const form = make(
    "form",
    { className: "runs-filters", onsubmit: (event) => event.preventDefault() },
    ...Object.entries(inputs).map(([name, input]) => make("label", { htmlFor: input.id }, labels[name], input)),
    make("button", { type: "button", className: "runs-clear", onclick: () => show({}) }, "Clear all"),
  );
  const status = make("p", { className: "runs-status", role: "status" });
  const heads = make("tr");
  const buttons = {};
  for (const [field, title] of Object.entries(COLUMNS)) {
    buttons[field] = make("button", { type: "button", onclick: () => sortBy(field) }, title);
    heads.append(make("th", { scope: "col" }, buttons[field]));
  }
  heads.append(make("th", { scope: "col" }, "Command"));
  const body = make("tbody");
  const table = make("table", { className: "runs" }, make("thead", {}, heads), body);
  const earlier = make("button", { type: "button", onclick: () => turn(-1) }, "← Previous");
  const later = make("button", { type: "button", onclick: () => turn(1) }, "Next →");
  const where = make("span");
  const pages = make("nav", { className: "runs-pages", "aria-label": "Pages of the table" }, earlier, where, later);
  place.replaceChildren(form, status, table, pages);

  let state = {};
  form.addEventListener("input", () => {
    const chosen = Object.entries(inputs).map(([name, input]) => [name, input.value]);
    const sorting = { sort: state.sort, desc: state.desc };
    show(Object.fromEntries([...chosen, ...Object.entries(sorting)].filter(([, value]) => value)), { typed: true });
  });
  window.addEventListener("hashchange", read);
  read();

  function select(name, options) {
    const all = make("option", { value: "" }, "all");
    const others = options.map(([value, text]) => make("option", { value }, text));
    return make("select", { id: `results-${name}` }, all, ...others);
  }

  /** Show what the address asks for; an address that says nothing of the table leaves it as it is. */
  function read() {
    const hash = decodeURI(location.hash.slice(1));
    if (hash === "" || hash.includes("=")) show(Object.fromEntries(new URLSearchParams(hash)), { keep: true });
  }

  function sortBy(field) {
    const again = state.sort === field;
    const first = typeof rows.find((row) => row[field] !== null)[field] === "string" ? "" : "1"; // numbers: largest first
    const desc = again ? (state.desc ? "" : "1") : first;
    show({ ...state, sort: field, desc, page: "" });
  }

  function turn(by) {
    show({ ...state, page: String((Number(state.page) || 1) + by) });
    table.scrollIntoView();
  }

  function valueOf(row, field) {
    return field === "seeds" ? row.seeds.length : row[field];
  }

  function matches(row) {
    const words = (state.q || "").toLowerCase().split(/\s+/).filter(Boolean);
    return (
      words.every((word) => row.text.includes(word)) &&
      (!state.budget || row.size === state.budget) &&
      Object.keys(FILTERS).every((field) => !state[field] || (row[field] || "-") === state[field])
    );
  }

  function compare(a, b) {
    const [one, other] = [valueOf(a, state.sort), valueOf(b, state.sort)];
    if (one === null || other === null) return (one === null) - (other === null); // what is missing comes last
    const order = typeof one === "string" ? one.localeCompare(other) : one - other;
    return state.desc ? -order : order;
  }

  function show(wanted, { typed = false, keep = false } = {}) {
    state = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value));
    if (!keep) {
      const hash = new URLSearchParams(state).toString();
      history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
    }
    if (!typed) for (const [name, input] of Object.entries(inputs)) input.value = state[name] || "";
    const found = rows.filter(matches);
    if (COLUMNS[state.sort]) found.sort(compare);
    const count = Math.max(1, Math.ceil(found.length / PAGE));
    const page = Math.min(Math.max(1, Number(state.page) || 1), count);
    status.textContent = `${found.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} rows`;
    for (const [field, button] of Object.entries(buttons)) {
      const order = state.sort !== field ? "none" : state.desc ? "descending" : "ascending";
      button.parentElement.setAttribute("aria-sort", order);
    }
    body.replaceChildren(...found.slice(PAGE * (page - 1), PAGE * page).map(draw));
    if (!found.length) body.append(make("tr", {}, make("td", { colSpan: 10 }, "No result is like that: clear a filter.")));
    pages.hidden = count === 1;
    where.textContent = `Page ${page} of ${count}`;
    [earlier.disabled, later.disabled] = [page === 1, page === count];
  }

  /** Format a score with its deviation, as the tables do: small numbers keep three digits. */
  function format(mean, std) {
    const digits = (value) => (Math.abs(mean) >= 1 ? value.toFixed(2) : String(Number(value.toPrecision(3))));
    return digits(mean) + (std === null ? "" : `\u00a0±\u00a0${digits(std)}`);
  }

  function draw(row) {
    const epochs = row.epochs === null ? "–" : row.epochs.toLocaleString("en");
    const of = row.published === null ? "–" : `${Number((100 * row.share).toPrecision(2))} %`;
    const total = row.published === null ? "" : `of ${row.published.toLocaleString("en")}`;
    const cells = {
      method: [row.method],
      map: [row.map || "–"],
      data: [row.data],
      protocol: [row.protocol],
      metric: [row.metric],
      mean: [format(row.mean, row.std), small(row.over && `over ${row.over}`)],
      seeds: [row.seeds.join(", ")],
      epochs: [epochs, small(row.budget)],
      share: [of, small(total)],
    };
    const drawn = Object.entries(cells).map(([field, parts]) =>
      make("td", { className: `runs-${field}`, "data-label": COLUMNS[field] }, ...parts.filter(Boolean)),
    );
    const copy = make("button", { type: "button", className: "runs-copy", onclick: () => take(copy, row) }, "Copy");
    copy.setAttribute("aria-label", `Copy the command of ${row.method} on ${row.data}, ${row.protocol}`);
    const command = make("code", {}, row.lines[0]);
    const more = make("button", { type: "button", className: "runs-more", onclick: () => unfold(more, command, row) });
    more.append(command);
    more.setAttribute("aria-expanded", "false");
    drawn.push(make("td", { className: "runs-command", "data-label": "Command" }, copy, more));
    return make("tr", { className: row.size === "short" ? "short" : "" }, ...drawn);
  }

  function small(text) {
    return text ? make("small", {}, text) : "";
  }

  /** Show the whole command, with a line for each seed, or its beginning. */
  function unfold(button, command, row) {
    const isOpen = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!isOpen));
    command.textContent = isOpen ? row.lines[0] : row.lines.join("\n");
  }

  async function take(button, row) {
    const text = `${row.lines.join("\n")}\n`;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      const area = make("textarea", { value: text }); // where the clipboard is not allowed
      document.body.append(area);
      area.select();
      document.execCommand("copy");
      area.remove();
      button.focus();
    }
    button.textContent = "Copied";
    status.textContent = `Copied ${row.lines.length === 1 ? "1 line" : `${row.lines.length} lines`}.`;
    setTimeout(() => (button.textContent = "Copy"), 1500);
  }
})();
