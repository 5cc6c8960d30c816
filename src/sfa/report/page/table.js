// A table that can be sorted by every column.

const ascending = new Intl.Collator("en", { numeric: true });

function order(a, b) {
  return typeof a === "number" && typeof b === "number" ? a - b : ascending.compare(String(a), String(b));
}

const isMissing = (value) => value === null || value === undefined || Number.isNaN(value);

// Columns are {name, value(row), text(row), number}; rows without a value stay last either way.
function sortableTable(caption, columns, rows) {
  const body = el("tbody");
  let sorted = { column: null, down: false };
  const heads = columns.map((column, number) => {
    const button = el("button", { type: "button" }, column.name, el("span", { class: "arrow", "aria-hidden": "true" }));
    button.addEventListener("click", () => sort(number));
    return el("th", { scope: "col", "aria-sort": "none", class: column.number ? "number" : null }, button);
  });

  function sort(number) {
    sorted = { column: number, down: sorted.column === number ? !sorted.down : false };
    heads.forEach((head, i) => head.setAttribute("aria-sort", i !== number ? "none" : sorted.down ? "descending" : "ascending"));
    draw();
  }

  function inOrder() {
    if (sorted.column === null) return rows;
    const { value } = columns[sorted.column], sign = sorted.down ? -1 : 1;
    return [...rows].sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (isMissing(x) || isMissing(y)) return Number(isMissing(x)) - Number(isMissing(y));
      return sign * order(x, y);
    });
  }

  function draw() {
    const line = (row) =>
      columns.map((column, i) => {
        const attributes = { class: column.number ? "number" : null };
        const text = isMissing(column.value(row)) ? "–" : (column.text ?? column.value)(row);
        return i ? el("td", attributes, String(text)) : el("th", { scope: "row" }, row.mark ?? null, String(text));
      });
    body.replaceChildren(...inOrder().map((row) => el("tr", { class: row.faint ? "faint" : null }, ...line(row))));
  }
  draw();
  return scrollable(caption, el("table", { class: "sortable" }, captionOf(caption), el("thead", {}, el("tr", {}, ...heads)), body));
}
