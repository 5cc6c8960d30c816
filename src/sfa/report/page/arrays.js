// Arrays that come as base64 of little-endian numbers, which every browser of today has as its own order.

const KINDS = { float32: Float32Array, int32: Int32Array, uint8: Uint8Array };

function decoded(given) {
  if (given === undefined || given === null) return null;
  if (Array.isArray(given)) return given;
  const text = atob(given.base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return new KINDS[given.dtype](bytes.buffer);
}

// A list of lists, or one array of two dimensions, as a list of rows.
function decodedRows(given) {
  if (!given || Array.isArray(given)) return given ?? [];
  const values = decoded(given), [count, width] = given.shape;
  return Array.from({ length: count }, (_, row) => values.subarray(row * width, (row + 1) * width));
}

// Ids of the items: given one by one, or as the numbers from 0.
function idsOf(given, count) {
  if (Array.isArray(given)) return (i) => String(given[i]);
  return (i) => (i < count ? String(i) : "");
}
