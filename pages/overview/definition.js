// One record of a mean in the reader's hand, and the two bells of the noisy mean: the browser half of definition.py.
const QUIET = 600; // ms after the last key until the new sentence is announced
const PHONE = 560; // px of the picture

// The Mills ratio (1 - Phi(x)) / phi(x) by its continued fraction; to 14 digits for x >= 0.5.
function mills(x) {
  let tail = x;
  for (let k = 1000; k; k--) tail = x + k / tail;
  return 1 / tail;
}

// The area of N(0, 1) above e^epsilon N(mu, 1): Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu), where
// e^epsilon phi(u + mu) = phi(u).
function areaAbove(epsilon, mu) {
  const u = epsilon / mu - mu / 2;
  return mu && (Math.exp((-u * u) / 2) / Math.sqrt(2 * Math.PI)) * (mills(u) - mills(u + mu));
}

// The largest ratio of two bells of Laplace noise of this scale, so far apart.
const largestRatio = (shift, scale) => Math.exp(shift / scale);

const superscript = (power) => String(power).replace(/[-\d]/g, (it) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(it)]);

// A probability: 10⁻⁶, 2.3 × 10⁻⁹.
function small(value) {
  if (!value) return "0";
  if (value < 1e-15) return "less than 10⁻¹⁵";
  const [digits, power] = value.toExponential(1).split("e");
  return `${digits === "1.0" ? "" : `${digits} × `}10${superscript(Number(power))}`;
}

// A ratio, with digits enough to tell most moves of one point apart.
function ratio(value, epsilon) {
  const digits = 2 + Math.max(0, Math.ceil(-Math.log10(epsilon)));
  return value < 100 ? value.toFixed(digits) : Math.round(value).toLocaleString("en");
}

const unbroken = (text) => text.replace(/ (?=[=<×] )|(?<= [=<×]) /g, "\u00a0");

function element(parent, name, attributes = {}, text = "") {
  const made = document.createElementNS(name === "svg" ? "http://www.w3.org/2000/svg" : parent.namespaceURI, name);
  set(made, attributes);
  made.textContent = text;
  parent.append(made);
  return made;
}

// A text in which e^ε is written as it is printed.
function raised(node, text) {
  const [before, after] = text.split("^ε");
  node.replaceChildren(before);
  if (after === undefined) return;
  if (node.namespaceURI.endsWith("svg")) {
    element(node, "tspan", { dy: "-0.4em", "font-size": "75%" }, "ε");
    element(node, "tspan", { dy: "0.3em" }, after);
  } else {
    element(node, "sup", {}, "ε");
    node.append(after);
  }
}

function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
}

// What is to be read off with the record there.
function found({ epsilon, delta, scale, range, others }, noise, at) {
  const [total, n] = [others.reduce((sum, it) => sum + it, 0), others.length + 1];
  const [limit, sign] = [ratio(Math.exp(epsilon), epsilon), at === range ? "=" : "<"];
  const reached = noise === "Laplace" ? ratio(largestRatio(at / n, scale.Laplace), epsilon) : small(areaAbove(epsilon, at / n / scale.Gaussian));
  const [read, told, allows] =
    noise === "Laplace"
      ? [`Largest ratio of the bells: ${reached} ${sign} e^ε = ${limit}`, `no noisy mean becomes more than ${reached} times as likely`, "ε"]
      : [`Area of one bell above e^ε times the other: ${reached} ${sign} δ = ${small(delta)}`, `above ${limit} times the one bell lies ${reached} of the other`, "δ"];
  const moved = `The record moves by ${at} of at most ${range} points, the mean by ${(at / n).toFixed(1)} of at most ${(range / n).toFixed(1)}`;
  const sentence = `${moved}: ${told}${at === range ? `, exactly what ${allows} allows` : ""}.`;
  return { was: total / n, now: (total + at) / n, most: range / n, limit, reached, read, sentence };
}

// How high a bell stands there, its peak being 1.
const bell = (noise, scale) => (gap) => (noise === "Laplace" ? Math.exp(-Math.abs(gap) / scale) : Math.exp(-((gap / scale) ** 2) / 2));

function create(parent) {
  const node = element(parent, "div", { class: "definition" });
  element(node, "h2", {}, "Drag one record: does the noise hide it?");
  const picker = element(node, "fieldset");
  element(picker, "legend", {}, "Noise:");
  node.noise = "Laplace";
  for (const noise of ["Laplace", "Gaussian"]) {
    const label = element(picker, "label");
    const input = element(label, "input", { type: "radio", name: "definition-noise" });
    input.checked = noise === node.noise;
    input.addEventListener("change", () => {
      node.noise = noise;
      draw(node);
      announce(node);
    });
    label.append(noise);
  }
  node.read = element(node, "strong");
  node.svg = element(node, "svg", { role: "group", "aria-label": "Two bells above the marks of twenty people, one of which can be moved" });
  node.words = element(node, "p", { "aria-hidden": "true" });
  node.said = element(node, "p", { class: "definition-said", role: "status" });
  node.drawn = element(node.svg, "g", { "aria-hidden": "true" });
  node.handle = element(node.svg, "g", { role: "slider", tabindex: 0, "aria-label": "mark of one person", "aria-valuemin": 0 });
  for (const name of ["circle", "circle", "text"]) element(node.handle, name, { "text-anchor": "middle", "font-weight": 600 });
  hold(node);
  new ResizeObserver(() => draw(node)).observe(node);
  return node;
}

function announce(node) {
  node.said.textContent = node.words.textContent;
}

function move(node, to) {
  node.at = Math.min(Math.max(Math.round(to), 0), node.data.range);
  node.moved = true;
  draw(node);
}

// By mouse, finger and keys; the lecture has PageUp and PageDown.
function hold({ handle }) {
  const node = handle.closest(".definition");
  handle.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    handle.setPointerCapture(event.pointerId);
    handle.focus({ preventScroll: true });
  });
  handle.addEventListener("touchstart", (event) => event.preventDefault(), { passive: false }); // no scrolling from here
  handle.addEventListener("pointermove", (event) => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    const { left, width } = node.svg.getBoundingClientRect();
    move(node, (node.data.range * (event.clientX - left - node.side)) / (width - 2 * node.side));
  });
  handle.addEventListener("lostpointercapture", () => announce(node));
  handle.addEventListener("keydown", (event) => {
    const { range } = node.data;
    const to = { ArrowLeft: node.at - 1, ArrowDown: node.at - 1, ArrowRight: node.at + 1, ArrowUp: node.at + 1, Home: 0, End: range }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    move(node, to);
    clearTimeout(node.announcing);
    node.announcing = setTimeout(announce, QUIET, node);
  });
}

function draw(node) {
  const { data, noise, at } = node;
  const width = node.clientWidth;
  if (!width) return; // in a tab that is hidden
  const { range, others, colours, epsilon } = data;
  const rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
  const [size, dot] = [0.85 * rem, Math.min(0.3 * rem, width / 100)];
  const height = (width < PHONE ? 0.62 : rem / 16) * data.height;
  const side = (node.side = 1.2 * rem);
  const [axis, floor, top] = [height - 3 * size, height - 8.1 * size, 1.7 * size];
  const x = (value) => side + (value / range) * (width - 2 * side);
  const read = found(data, noise, at);
  const level = (share) => floor - share * (floor - top);

  node.drawn.replaceChildren();
  const line = (x1, y1, x2, y2, stroke, more = {}) => element(node.drawn, "line", { x1, y1, x2, y2, stroke, "stroke-width": 1.5, ...more });
  const write = (text, left, y, fill, anchor = "start", more = {}) =>
    raised(element(node.drawn, "text", { x: left, y, fill, stroke: colours.paper, "text-anchor": anchor, "font-size": size, ...more }), text);

  // The bells.
  const shape = bell(noise, data.scale[noise]);
  for (const [mean, colour] of [[read.was, colours.was], [read.now, colours.now]]) {
    const places = Array.from({ length: Math.ceil(width / 2) + 1 }, (_, k) => (k / Math.ceil(width / 2)) * range);
    const points = [...places, mean].sort((a, b) => a - b).map((it) => `${x(it).toFixed(1)},${level(shape(it - mean)).toFixed(1)}`);
    element(node.drawn, "path", { d: `M${x(0)},${floor}L${points.join("L")}L${x(range)},${floor}Z`, fill: colour, opacity: 0.12 });
    element(node.drawn, "path", { d: `M${points.join("L")}`, fill: "none", stroke: colour, "stroke-width": 3 });
    line(x(mean), level(1), x(mean), axis, colour, { "stroke-dasharray": "2 3" });
  }
  line(x(0), floor, x(range), floor, colours.muted);
  write("record at 0", x(read.was) - 6, top - 0.5 * size, colours.was, "end", { "font-weight": 600 });
  write(`record at ${at}`, x(read.now) + 6, top - 0.5 * size, colours.ink, "start", { "font-weight": 600 });

  // Where Laplace bells differ most: at the first one's peak, and all the way to the left of it.
  if (noise === "Laplace") {
    const [here, lowest] = [level(shape(read.now - read.was)), level(Math.exp(-epsilon))];
    line(x(0), lowest, x(range), lowest, colours.muted, { "stroke-dasharray": "6 4" });
    write(`peak ÷ e^ε (${read.limit})`, x(range), lowest - 0.4 * size, colours.text, "end");
    line(x(read.was), level(1), x(read.was), here, colours.now, { "stroke-width": 4 });
    element(node.drawn, "circle", { cx: x(read.was), cy: here, r: 5, fill: colours.now });
    if (at) write(`× ${read.reached}`, x(read.was) - 10, (level(1) + here) / 2 + 0.3 * size, colours.ink, "end", { "font-weight": 600 });
  }

  // The exact mean, and as far as it can get.
  const middle = (floor + axis) / 2 - 0.9 * size;
  element(node.drawn, "rect", { x: x(read.was), y: middle - 0.55 * size, width: x(read.was + read.most) - x(read.was), height: 1.1 * size, fill: colours.now, opacity: 0.25 });
  line(x(read.was), middle, x(read.now), middle, colours.now, { "stroke-width": 4 });
  write(`mean +${(read.now - read.was).toFixed(1)}, at most +${read.most.toFixed(1)}`, x(read.was) - 8, middle + 0.35 * size, colours.text, "end");

  write("noisy mean", x(range), floor + 1.2 * size, colours.muted, "end");

  // The records.
  const lane = axis - 1.1 * size;
  line(x(0), axis, x(range), axis, colours.muted);
  for (const mark of others) element(node.drawn, "circle", { cx: x(mark), cy: lane, r: dot, fill: colours.muted });
  for (const mark of [0, 0.25, 0.5, 0.75, 1]) write(String(mark * range), x(mark * range), axis + 1.2 * size, colours.muted, "middle");
  write(`exam marks of ${others.length + 1} people, public range 0 to ${range}`, x(range), height - 0.3 * size, colours.muted, "end");
  element(node.drawn, "circle", { cx: x(0), cy: lane, r: 0.5 * rem, fill: colours.paper, stroke: colours.was, "stroke-width": 2, "stroke-dasharray": "3 2" });
  line(x(0) + 0.6 * rem, lane, x(at), lane, colours.now, { "stroke-dasharray": "2 3" });

  // The same elements as before: a finger that holds one that goes would hold nothing.
  const [reach, grip, hint] = node.handle.children;
  set(reach, { cx: x(at), cy: lane, r: 1.4 * rem, fill: "transparent" });
  set(grip, { cx: x(at), cy: lane, r: 0.6 * rem, fill: colours.now, stroke: colours.paper, "stroke-width": 2 });
  set(hint, { x: x(at), y: lane - 0.9 * rem, fill: colours.ink, stroke: colours.paper, "font-size": size });
  hint.textContent = node.moved ? "" : "◂ drag ▸";
  set(node.handle, { "aria-valuemax": range, "aria-valuenow": at, "aria-valuetext": `${at} of ${range} points` });
  set(node.svg, { height, viewBox: `0 0 ${width} ${height}` });
  raised(node.read, unbroken(read.read));
  node.words.textContent = unbroken(read.sentence);
}

// Streamlit calls this at each run; the record stays where the reader has put it.
export default function ({ data, parentElement }) {
  const node = parentElement.querySelector(".definition") ?? create(parentElement);
  node.data = data;
  node.at ??= data.start;
  draw(node);
}
