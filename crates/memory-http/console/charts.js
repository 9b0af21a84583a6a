// Drawings in SVG. Each has a text for those who do not see it.

import { h, s } from "./dom.js";
import { count } from "./format.js";

/** A bar from 0 to 1, with its number. */
export function bar(label, share, shown, kind) {
  const width = Math.max(0, Math.min(1, share || 0)) * 100;
  return h("div", { class: "bar" },
    h("span", { class: "bar-label" }, label),
    s("svg", { viewBox: "0 0 100 8", preserveAspectRatio: "none", class: `bar-track ${kind}`, "aria-hidden": "true" },
      s("rect", { class: "track", width: 100, height: 8 }),
      s("rect", { class: "filled", width, height: 8 })),
    h("span", { class: "bar-value" }, shown));
}

/** What is used of a quota. */
export function meter(used, max, label) {
  return s("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none", class: "meter", role: "img", "aria-label": label },
    s("rect", { class: "track", width: 100, height: 6 }),
    s("rect", { class: used > 0.9 * max ? "filled bad" : "filled", width: Math.min(100, (100 * used) / max), height: 6 }));
}

/**
 * A line over time through `[time, value, lag]`, and with `lags` a second one for the lag. Each
 * has a scale of its own. A pause in the readings is a gap.
 */
export function sparkline(points, label, { width = 220, height = 44, gap = 20_000, lags = false } = {}) {
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", class: "sparkline", role: "img", "aria-label": label });
  svg.append(s("line", { class: "axis", x1: 0, x2: width, y1: height - 1, y2: height - 1 }));
  if (points.length === 0) return svg;
  const [start, end] = [points[0][0], points.at(-1)[0]];
  const x = (time) => (end === start ? width - 4 : 2 + ((time - start) / (end - start)) * (width - 8));
  const line = (column, kind) => {
    const top = Math.max(1, ...points.map((point) => point[column]));
    const y = (point) => height - 3 - (point[column] / top) * (height - 8);
    let path = "";
    points.forEach((point, index) => {
      const broken = index === 0 || point[0] - points[index - 1][0] > gap;
      path += `${broken ? "M" : "L"}${x(point[0]).toFixed(1)} ${y(point).toFixed(1)}`;
    });
    const newest = points.at(-1);
    svg.append(s("path", { class: `line ${kind}`, d: path }), s("path", { class: `dot ${kind}`, d: `M${x(newest[0])} ${y(newest)}h0` }));
  };
  line(1, "waiting");
  // On top, because its gaps leave the other one visible.
  if (lags) line(2, "lag");
  return svg;
}

/**
 * Stacked columns: `columns` are `{ label, parts: [value, …], title }`, `names` those of the
 * parts. `limit` is drawn as a line.
 */
export function columns(data, names, limit, label) {
  const [width, height, left, bottom] = [720, 180, 56, 22];
  const totals = data.map((one) => one.parts.reduce((sum, part) => sum + part, 0));
  const largest = Math.max(1, ...totals);
  const top = limit && limit < largest * 3 ? Math.max(limit, largest) : largest;
  const room = (width - left) / data.length;
  const y = (value) => (height - bottom) * (1 - value / top) + 0;
  const svg = s("svg", { viewBox: `0 -8 ${width} ${height + 8}`, class: "columns", role: "img", "aria-label": label });
  for (const share of [0, 0.5, 1]) {
    svg.append(s("line", { class: "axis", x1: left, x2: width, y1: y(top * share), y2: y(top * share) }),
      s("text", { class: "tick", x: left - 6, y: y(top * share) + 4, "text-anchor": "end" }, compact(top * share)));
  }
  data.forEach((one, index) => {
    let below = 0;
    const group = s("g", null, s("title", null, one.title));
    one.parts.forEach((part, kind) => {
      const [from, to] = [y(below), y(below + part)];
      below += part;
      if (part > 0) group.append(s("rect", { class: `series-${kind}`, x: left + index * room + room * 0.15, width: room * 0.7, y: to, height: Math.max(0.5, from - to) }));
    });
    svg.append(group);
    if (index % Math.ceil(data.length / 8) === 0 || data.length <= 8) {
      svg.append(s("text", { class: "tick", x: left + (index + 0.5) * room, y: height - 4, "text-anchor": "middle" }, one.label));
    }
  });
  if (limit && limit <= top) svg.append(s("line", { class: "limit", x1: left, x2: width, y1: y(limit), y2: y(limit) }));
  return h("figure", null, svg, h("figcaption", { class: "legend" },
    names.map((name, index) => h("span", null, h("span", { class: `swatch series-${index}` }), name)),
    limit && limit <= top ? h("span", null, h("span", { class: "swatch limit" }), `daily budget, ${count(limit)}`) : null));
}

export function compact(value) {
  return new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 }).format(value);
}

/**
 * The tree of messages beside a list whose rows are `row` high: a lane for each branch, a mark
 * for each message by its role. `messages` are ordered by seq.
 */
export function tree(messages, onPath, head, row) {
  const places = new Map(messages.map((message, index) => [message.messageId, index]));
  const lanes = laneOf(messages, places);
  const last = Math.max(0, ...lanes.values());
  // Many lanes are drawn closer together, and leave the texts their room.
  const room = Math.min(18, 180 / Math.max(1, last));
  const x = (message) => 14 + lanes.get(message.branch) * room;
  const y = (index) => (index + 0.5) * row;
  const width = 28 + last * room;
  const svg = s("svg", { class: "tree", width, height: messages.length * row, viewBox: `0 0 ${width} ${messages.length * row}`, "aria-hidden": "true" });
  const edges = s("g", null);
  const marks = s("g", null);
  messages.forEach((message, index) => {
    const kind = onPath.has(message.messageId) ? "on" : "off";
    const parent = places.get(message.parentMessageId);
    const [cx, cy] = [x(message), y(index)];
    if (parent !== undefined) {
      const [px, py] = [x(messages[parent]), y(parent)];
      const bend = Math.min(cy, py + row);
      const d = px === cx ? `M${px} ${py}V${cy}` : `M${px} ${py}C${px} ${(py + bend) / 2} ${cx} ${(py + bend) / 2} ${cx} ${bend}V${cy}`;
      edges.append(s("path", { class: `edge ${kind}`, d }));
    } else if (message.parentMessageId) {
      edges.append(s("path", { class: `edge cut ${kind}`, d: `M${cx} ${cy - row / 2}V${cy}` }));
    }
    const name = (message.role ?? "").slice(5).toLowerCase();
    const shape = name === "tool"
      ? s("rect", { x: cx - 4.5, y: cy - 4.5, width: 9, height: 9, rx: 1.5 })
      : name === "system"
        ? s("path", { d: `M${cx} ${cy - 6}L${cx + 6} ${cy}L${cx} ${cy + 6}L${cx - 6} ${cy}Z` })
        : s("circle", { cx, cy, r: 5 });
    shape.setAttribute("class", `message ${name} ${kind}`);
    marks.append(shape);
    if (message.messageId === head) marks.append(s("circle", { class: "head", cx, cy, r: 9 }));
  });
  svg.append(edges, marks);
  return { svg, width };
}

/** The lane of each branch: the first one that is free from its fork to its end. */
function laneOf(messages, places) {
  const spans = new Map();
  messages.forEach((message, index) => {
    const known = spans.get(message.branch);
    if (known) known.to = index;
    else spans.set(message.branch, { from: places.get(message.parentMessageId) ?? index, to: index });
  });
  const lanes = new Map();
  const ends = [];
  for (const [branch, { from, to }] of [...spans].sort(([a], [b]) => a - b)) {
    let lane = ends.findIndex((taken) => taken.every(([start, end]) => to < start || from > end));
    if (lane < 0) lane = ends.push([]) - 1;
    ends[lane].push([from, to]);
    lanes.set(branch, lane);
  }
  return lanes;
}

/** Where messages are in a thread of `last` messages: `[{ seq, kind }]`, as marks on a line. */
export function places(messages, last, label) {
  const [width, height] = [400, 16];
  const x = (seq) => 4 + ((seq - 0.5) / Math.max(1, last)) * (width - 8);
  const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", class: "places", role: "img", "aria-label": label });
  svg.append(s("line", { class: "axis", x1: 0, x2: width, y1: height / 2, y2: height / 2 }));
  for (const kind of ["neighbor", "recent", "match"]) {
    for (const one of messages.filter((message) => message.kind === kind)) {
      svg.append(s("path", { class: kind, d: `M${x(one.seq)} ${kind === "match" ? 1 : 4}V${kind === "match" ? height - 1 : height - 4}` }));
    }
  }
  return svg;
}

/** Spans of time in which memories were valid: `[{ label, from, until, kind }]`. */
export function validity(spans, label) {
  const now = Date.now();
  const start = Math.min(...spans.map((one) => one.from));
  const end = Math.max(now, ...spans.map((one) => one.until ?? now));
  const [width, row] = [600, 22];
  const x = (time) => 4 + ((time - start) / Math.max(1, end - start)) * (width - 8);
  const svg = s("svg", { viewBox: `0 0 ${width} ${spans.length * row}`, class: "validity", role: "img", "aria-label": label });
  spans.forEach((one, index) => {
    const [from, to] = [x(one.from), x(one.until ?? end)];
    svg.append(s("line", { class: "axis", x1: 0, x2: width, y1: (index + 0.5) * row, y2: (index + 0.5) * row }),
      s("rect", { class: one.until ? "ended" : "valid", x: from, width: Math.max(6, to - from), y: index * row + 5, height: row - 10, rx: 4 },
        s("title", null, one.label)));
  });
  return svg;
}
