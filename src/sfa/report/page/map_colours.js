// What the colours of the map can mean: for each point the number of its group, and for each group a name and a look.

const NOTHING = "var(--nothing)";

function classGroups(labels, names, unknown, word = "class") {
  const last = labels.reduce((most, label) => Math.max(most, label), -1);
  const groups = Array.from({ length: last + 1 }, (_, number) => ({
    name: names?.[number] ?? `${word} ${number}`,
    colour: colourOf(number),
    shape: shapeOf(number),
  }));
  return withUnknown(labels, groups, unknown);
}

function rightOrWrong(labels, predicted) {
  const of = Int32Array.from(labels, (label, i) => (label < 0 || predicted[i] < 0 ? -1 : label === predicted[i] ? 0 : 1));
  const groups = [
    { name: "right", colour: "var(--right)", shape: "circle" },
    { name: "wrong", colour: "var(--wrong)", shape: "triangle" },
  ];
  return withUnknown(of, groups, "not known");
}

// Points of no group (-1) get one of their own, the last; groups that have no points are left out of the legend.
function withUnknown(of, groups, unknown) {
  const all = [...groups, { name: unknown, colour: NOTHING, shape: "circle", behind: true }];
  const group = Int32Array.from(of, (number) => (number < 0 ? groups.length : number));
  const counts = new Int32Array(all.length);
  for (const number of group) counts[number]++;
  return { group, groups: all.map((one, number) => ({ ...one, count: counts[number] })) };
}

// Degrees 0, 1, 2 to 3, 4 to 7, …: the larger, the stronger the colour.
function degreeGroups(degree) {
  const group = degree.map((count) => (count ? Math.floor(Math.log2(count)) + 1 : 0));
  const last = group.reduce((most, number) => Math.max(most, number), 1);
  const groups = Array.from({ length: last + 1 }, (_, number) => ({
    name: number < 2 ? String(number) : `${whole(2 ** (number - 1))} to ${whole(2 ** number - 1)}`,
    colour: `color-mix(in srgb, var(--strong) ${Math.round((100 * number) / last)}%, var(--weak))`,
    shape: "circle",
  }));
  return withUnknown(group, groups, "not known");
}

function mapModes({ count, labels, cluster, degree, predicted, names }) {
  const modes = [];
  if (labels) modes.push(["label", "label", () => classGroups(labels, names, "no label")]);
  if (cluster) modes.push(["cluster", "k-means cluster", () => classGroups(cluster, null, "", "cluster")]);
  if (degree) modes.push(["degree", "degree", () => degreeGroups(degree)]);
  if (predicted) modes.push(["predicted", "predicted label", () => classGroups(predicted, names, "not predicted")]);
  if (labels && predicted) modes.push(["right", "right or wrong", () => rightOrWrong(labels, predicted)]);
  if (!modes.length) {
    const plainGroup = () => ({ group: new Int32Array(count), groups: [{ name: "all", colour: colourOf(0), shape: "circle", count }] });
    modes.push(["none", "nothing", plainGroup]);
  }
  return modes;
}
