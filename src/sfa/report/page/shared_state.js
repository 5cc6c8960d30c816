// A value that several parts of the page show, and that each of them may change.

function shared(value) {
  const listeners = [];
  return {
    get: () => value,
    set(next) {
      if (next === value) return;
      value = next;
      for (const listener of listeners) listener(value);
    },
    watch: (listener) => listeners.push(listener),
  };
}

// Choice of the run that is shown in detail; all such choices of the page say the same.
function runChoice(runs, shown) {
  if (runs.length === 1) return null;
  const options = runs.map((run, number) => [String(number), run.name]);
  const { node, select } = choice("Run", options, String(shown.get()), (value) => shown.set(Number(value)));
  shown.watch((number) => (select.value = String(number)));
  return node;
}
