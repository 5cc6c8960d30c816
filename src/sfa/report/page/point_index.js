// Which point is nearest: points in square cells, so that only those near by are looked at.

function pointIndex(x, y) {
  const range = (values) => rangeOf([values], { room: 0 }) ?? [0, 1];
  const [left, right] = range(x), [low, high] = range(y);
  const side = Math.max(1, Math.ceil(Math.sqrt(x.length / 4)));
  const size = Math.max(right - left, high - low) / side || 1;
  const cell = (value, from) => Math.max(0, Math.min(side, Math.floor((value - from) / size)));
  const cells = new Map();
  for (let i = 0; i < x.length; i++) {
    if (!isNumber(x[i]) || !isNumber(y[i])) continue;
    const key = cell(x[i], left) * (side + 1) + cell(y[i], low);
    if (cells.has(key)) cells.get(key).push(i);
    else cells.set(key, [i]);
  }

  // The nearest one that counts, at most `reach` away; -1 if there is none.
  function nearest(px, py, reach, counts) {
    let best = -1, least = reach * reach;
    for (let a = cell(px - reach, left); a <= cell(px + reach, left); a++)
      for (let b = cell(py - reach, low); b <= cell(py + reach, low); b++)
        for (const i of cells.get(a * (side + 1) + b) ?? []) {
          const distance = (x[i] - px) ** 2 + (y[i] - py) ** 2;
          if (distance <= least && counts(i)) [best, least] = [i, distance];
        }
    return best;
  }

  // The next one in a direction: near, and rather straight ahead than aside; -1 if there is none.
  function towards(from, dx, dy, counts) {
    let best = -1, least = Infinity;
    for (let i = 0; i < x.length; i++) {
      const ahead = (x[i] - x[from]) * dx + (y[i] - y[from]) * dy;
      if (!(ahead > 0) || i === from || !counts(i)) continue;
      const aside = Math.abs((x[i] - x[from]) * dy - (y[i] - y[from]) * dx);
      const cost = aside > ahead ? Infinity : ahead + 2 * aside;
      if (cost < least) [best, least] = [i, cost];
    }
    return best;
  }
  return { nearest, towards };
}
