// Scales of plots: where values go, and which of them are written at the axis.

function linearTicks(low, high, about, isWhole = false) {
  const raw = Math.max((high - low) / Math.max(1, about), isWhole ? 1 : 0);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 2.5, 5, 10].find((factor) => factor * power >= raw * 0.999 && (!isWhole || (factor * power) % 1 === 0));
  const ticks = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) ticks.push(Number((k * step).toPrecision(12)));
  return ticks;
}

// Powers of ten, thinned if there are many; 1, 2 and 5 of each if there are few.
function logTicks(low, high, about) {
  const from = Math.floor(Math.log10(low)), to = Math.ceil(Math.log10(high));
  const factors = to - from <= 2 ? [1, 2, 5] : [1], every = Math.max(1, Math.ceil((to - from) / about));
  const ticks = [];
  for (let power = from; power <= to; power += every)
    for (const factor of factors) {
      const tick = Number(`${factor}e${power}`);
      if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
    }
  return ticks.length > 1 ? ticks : linearTicks(low, high, about);
}

const SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹";

function powerText(value) {
  const power = Math.round(Math.log10(value));
  if (Math.abs(Math.log10(value) - power) > 1e-9 || Math.abs(power) < 4) return plain(value);
  const digits = [...String(Math.abs(power))].map((digit) => SUPERSCRIPT[digit]).join("");
  return `10${power < 0 ? "⁻" : ""}${digits}`;
}

// As few digits as tell the ticks apart, four at least.
function tickText(ticks) {
  const areDistinct = (text) => new Set(ticks.map(text)).size === ticks.length;
  if (areDistinct(plain)) return plain;
  const digits = [5, 6, 7, 8, 9, 10, 11].find((count) => areDistinct((tick) => tick.toPrecision(count))) ?? 12;
  return (value) => withMinus(String(Number(value.toPrecision(digits))));
}

function scale({ low, high, from, to, log = false, isWhole = false, about = 5 }) {
  const f = log ? Math.log10 : (value) => value;
  const [a, b] = [f(low), f(high)];
  const at = (value) => from + ((f(value) - a) / (b - a || 1)) * (to - from);
  const ticks = log ? logTicks(low, high, about) : linearTicks(low, high, about, isWhole);
  return { at, ticks, text: log ? powerText : tickText(ticks) };
}

// The smallest range of finite numbers that holds all of them, with a little room at both ends.
function rangeOf(lists, { log = false, room = 0.05 } = {}) {
  let low = Infinity, high = -Infinity;
  for (const list of lists)
    for (const value of list)
      if (isNumber(value) && (!log || value > 0)) {
        if (value < low) low = value;
        if (value > high) high = value;
      }
  if (low > high) return null;
  if (log) return low === high ? [low / 2, high * 2] : [low / (high / low) ** room, high * (high / low) ** room];
  const margin = low === high ? Math.abs(low) * 0.1 || 1 : (high - low) * room;
  return [low - margin, high + margin];
}
