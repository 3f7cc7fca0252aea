// The numbers of a chart as tables, for those who cannot see it or want them: createNumbers and fillNumbers are called by
// live_figure.js.

const MOST_VALUES = 400;

// What opens below a chart: its numbers, for who cannot see it or wants them. Those of a chart beside the page's own are
// for screen readers alone.
function createNumbers(fill, beside) {
  const details = document.createElement(beside ? "div" : "details");
  details.className = beside ? "announced" : "live-figure-numbers";
  details.hidden = true;
  details.open = beside;
  if (!beside) add(details, "summary", "Numbers of this chart");
  const pane = add(details, "div");
  if (beside) return details;
  pane.tabIndex = 0; // longer than its place, it is scrolled by the keyboard too
  pane.setAttribute("role", "region");
  pane.setAttribute("aria-label", "Numbers of this chart");
  details.addEventListener("toggle", fill);
  return details;
}

function add(parent, tag, text = "", attributes = {}) {
  const element = Object.assign(document.createElement(tag), attributes);
  element.textContent = text; // never markup
  parent.append(element);
  return element;
}

// A text without the markup that plotly knows.
const plain = (text) => String(text ?? "").replace(/<br ?\/?>/g, " ").replace(/<[^>]+>/g, "").trim();

// A value as its axis names it, or with four digits.
function written(value, axis, labels) {
  if (typeof value !== "number") return plain(value);
  const tick = [...(axis.tickvals ?? [])].indexOf(value);
  const name = axis.showticklabels ? axis.ticktext?.[tick] : labels.find((it) => it.y === value)?.text;
  if (name && !/^[\d.,]+[kMB%]?$/.test(name)) return plain(name);
  if (Number.isInteger(value)) return value.toLocaleString("en-US").replace("-", "−");
  return String(Number(value.toPrecision(4))).replaceAll("-", "−");
}

// A trace's points. Where the picture moves or cuts them, as on a bent axis, their hover text has the true value.
function pointsOf(trace) {
  const { x, y, customdata, hovertemplate: said } = trace;
  const told = customdata?.length === x.length && !Array.isArray(customdata[0]) && said?.includes("%{customdata");
  const across = told && !said.includes("%{x") ? customdata : x;
  const up = told && across === x && !said.includes("%{y") ? customdata : y;
  const drawn = (value) => value !== null && (typeof value !== "number" || Number.isFinite(value));
  return [...across].map((at, i) => [at, up[i]]).filter(([at, height]) => drawn(at) && drawn(height));
}

const ink = (colour = "") =>
  colour[0] === "#" ? [1, 3, 5].map((i) => parseInt(colour.slice(i, i + 2), 16)).join() : colour.match(/\d+,\d+,\d+/)?.[0];

// An edge of a band. Where a panel has several, it is named after the thickest curve of its hue, if there is one.
function edgeName(node, band, side) {
  const alike = node.data.filter((it) => (it.yaxis ?? "y") === (band.yaxis ?? "y"));
  const several = alike.filter((it) => it.fill === "tonexty").length > 1;
  const hue = alike.filter((it) => several && it.name && !it.fill && ink(it.line?.color) === ink(band.fillcolor));
  const thickest = hue.filter((it) => it.line.width === Math.max(...hue.map((other) => other.line.width)));
  return `${thickest.length === 1 ? `${thickest[0].name}: ` : ""}${band.name}, ${side} edge`;
}

// The curves with a name, each with its axes and rows; a band is its upper and its lower edge. Marks without a name
// repeat what a curve shows.
function curvesOf(node) {
  const labels = node.wide.annotations ?? [];
  return node._fullData.flatMap((trace, k) => {
    const [given, next] = [node.data[k], node.data[k + 1]];
    const upper = next?.fill === "tonexty" && !given.name;
    const name = upper ? edgeName(node, next, "upper") : given.fill === "tonexty" ? edgeName(node, given, "lower") : given.name;
    if (!name || trace.z || !trace.x?.length || trace.x.length !== trace.y?.length) return [];
    const [x, y] = [trace.xaxis, trace.yaxis].map((id) => node._fullLayout[`${id[0]}axis${id.slice(1)}`]);
    const beside = labels.filter((it) => it.yref === trace.yaxis);
    const rows = pointsOf(trace).map(([at, height]) => [written(at, x, []), written(height, y, beside), at]);
    const across = plain(node.wide[`xaxis${trace.xaxis.slice(1)}`]?.title?.text) || trace.hovertemplate?.match(/^(.+?) = %\{(x|customdata)\}/)?.[1] || "across";
    return rows.length ? [{ name: plain(name), panel: trace.yaxis, across, rows }] : [];
  });
}

// What a panel shows: its axis' title, or the note above it; notes stand in the order of the panels.
function titleOf(node, panel) {
  const place = panel.slice(1);
  const above = (node.wide.annotations ?? []).filter((it) => /paper|domain/.test(it.xref) && /paper|domain/.test(it.yref));
  return plain(node.wide[`yaxis${place}`]?.title?.text ?? above[(Number(place) || 1) - 1]?.text) || "up";
}

// The x of the cursor in a panel's own words, if the chart has one.
function cursorOf(node, curves) {
  const flag = (node.wide.annotations ?? []).find((it) => it.name === "cursor");
  const said = flag && plain(flag.text).split("= ").pop();
  return curves.flatMap(({ rows }) => rows.map(([at]) => at)).find((at) => at === said);
}

// A row for each x and a column for each curve, the cursor's row first. Of many rows some are left out, evenly.
function fillTable(node, pane, curves) {
  const table = add(pane, "table");
  add(table, "caption", titleOf(node, curves[0].panel));
  const head = add(add(table, "thead"), "tr");
  for (const text of [curves[0].across, ...curves.map(({ name }) => name)]) add(head, "th", text, { scope: "col" });
  const columns = curves.map(({ rows }) => new Map(rows));
  const order = new Map(curves.flatMap(({ rows }) => rows.map(([at, , x]) => [at, x])));
  const places = [...order.keys()].sort((one, other) => (order.get(one) > order.get(other) ? 1 : -1));
  const every = Math.ceil((places.length * curves.length) / MOST_VALUES);
  const cursor = cursorOf(node, curves);
  const shown = places.filter((at, k) => at !== cursor && k % every === 0);
  const body = add(table, "tbody");
  for (const at of cursor === undefined ? shown : [cursor, ...shown]) {
    const line = add(body, "tr");
    add(line, "th", at, { scope: "row" });
    for (const column of columns) add(line, "td", column.get(at) ?? "");
  }
}

// Called at each drawing, and when a reader opens it; a closed one is not filled.
function fillNumbers(node) {
  node.numbers.hidden = !node._fullData.some(({ x, z }, k) => node.data[k].name && x?.length && !z);
  if (!node.numbers.open) return;
  const curves = curvesOf(node);
  const pane = node.numbers.lastChild;
  pane.replaceChildren();
  for (const panel of new Set(curves.map((curve) => curve.panel)))
    fillTable(node, pane, curves.filter((curve) => curve.panel === panel));
}
