// Numbers as text.

const MINUS = "−";

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

const withMinus = (text) => text.replace("-", MINUS);

// Four significant digits; powers of ten only where plain digits would be long.
function plain(value) {
  if (!isNumber(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) {
    const [digits, power] = value.toExponential(2).split("e");
    return `${withMinus(String(Number(digits)))}e${withMinus(String(Number(power)))}`;
  }
  return withMinus(String(size >= 1e4 ? Math.round(value) : Number(value.toPrecision(4))));
}

const fixed = (value, digits = 2) => (isNumber(value) ? withMinus(value.toFixed(digits)) : "–");

const signed = (value, digits = 2) => (isNumber(value) ? (value < 0 ? "" : "+") + fixed(value, digits) : "–");

const whole = (value) => (isNumber(value) ? value.toLocaleString("en-GB") : "–");

const probability = (p) => (!isNumber(p) ? "–" : p < 0.001 ? "< 0.001" : String(Number(p.toPrecision(2))));

function duration(seconds) {
  if (!isNumber(seconds)) return "–";
  if (seconds < 60) return `${Number(seconds.toPrecision(2))} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const counted = (count, word) => `${whole(count)} ${word}${count === 1 ? "" : "s"}`;
