// Draws a plotly figure in place: the browser half of live_figure.py, which puts chart_numbers.js before it.

const NARROW = 560; // px
const REMEMBERED = 120; // pictures of a chart
const PHONE = 768; // px of the window: nobody projects from a narrower one, and nothing is made larger there
const STACKED = 900; // px of the window: as in lecture.css, up to here a lecture's words stand above its chart
// px of the window that larger charts are made for; others have the same picture in their size, taller with more room.
const HALL = [1366, 768];
const HELD = ":is([data-testid=stSlider], .live-figure) :active"; // by a mouse or a finger
const RESTS = 500; // ms without another drawing, until what only screen readers get is written
const RESIZED = 150; // ms without another change of the window's size
const CONFIG = {
  displaylogo: false,
  // plotly.js 4 offers to upload the chart to its maker's servers unless told otherwise.
  showSendToCloud: false,
  plotlyServerURL: "",
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  toImageButtonOptions: { scale: 3 },
};
// A finger that moves on a chart scrolls the page, and tools would lie over the titles all the time. Two quick swipes
// would be a double click to plotly, which then zooms.
const BY_FINGER = window.matchMedia("(pointer: coarse)");

// One promise per page, shared by all figures.
function loadPlotly(src) {
  window.plotlyLibrary ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    // Relative to the page's address, as Streamlit's own scripts are: right below any base path.
    script.src = new URL(src, document.baseURI).href;
    const fail = () => {
      window.plotlyLibrary = null; // the next update tries again
      script.remove();
      reject(new Error(`${script.src} did not load`));
    };
    script.onload = () => (window.Plotly ? resolve(window.Plotly) : fail());
    script.onerror = fail;
    document.head.append(script);
  });
  return window.plotlyLibrary;
}

const isObject = (value) => value?.constructor === Object;

function merge(base, change) {
  const result = { ...base };
  for (const [key, value] of Object.entries(change ?? {})) {
    result[key] = isObject(value) && isObject(base?.[key]) ? merge(base[key], value) : value;
  }
  return result;
}

function create(parent, beside) {
  const node = document.createElement("div");
  node.className = "live-figure";
  node.remembered = new Map(); // what the controls said -> the picture of it, the latest last
  node.textContent = "Drawing the chart …";
  node.numbers = createNumbers(() => node.wide && fillNumbers(node), beside);
  parent.append(node, node.numbers);
  node.observer = new ResizeObserver(() => fit(node));
  node.observer.observe(node);
  node.resized = () => {
    if (node.sent.scale === 1) return; // its width alone counts
    clearTimeout(node.resizing);
    node.resizing = setTimeout(() => {
      node.remembered.clear(); // laid out for another window
      place(node);
    }, RESIZED);
  };
  window.addEventListener("resize", node.resized);
  return node;
}

// Adapt a drawn chart to a new width. A chart in a hidden tab has no width and waits.
function fit(node) {
  const width = node.clientWidth;
  if (!node.drawnWidth || !width || width === node.drawnWidth) return;
  if (width < NARROW !== node.drawnWidth < NARROW) {
    node.drawn = null;
    draw(node);
  } else {
    node.drawnWidth = width;
    window.Plotly.Plots.resize(node);
  }
}

// Where a picture's own range has changed plotly drops what the reader made of it, wholly or at one end. It is kept as
// long as the axis shows the same quantity.
function keepZoom(node, wanted) {
  const own = {};
  for (const [name, axis] of Object.entries(wanted)) {
    if (!/^[xy]axis\d*$/.test(name) || axis.range?.length !== 2) continue;
    own[name] = { range: [...axis.range], shows: JSON.stringify([axis.type, axis.title?.text ?? axis.title, axis.tickformat]) };
    const [before, now] = [node.own?.[name], node.layout?.[name]];
    if (!now || before?.shows !== own[name].shows) continue; // another quantity, or a chart that was taken down
    if (now.autorange === true) axis.autorange = true;
    else if (String(now.range) !== String(before.range)) axis.range = [...now.range];
  }
  node.own = own;
}

// Charts take turns, one a frame: the first is on the screen before the second begins.
function turn() {
  const mine = window.figureTurn ?? Promise.resolve();
  window.figureTurn = mine.then(painted);
  return mine;
}

// Until the browser has painted, which it may put off for a page that nobody looks at.
function painted() {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, 100);
  });
}

// Draws what is wanted when it is this chart's turn, until nothing newer is.
async function draw(node) {
  if (node.busy) return;
  node.busy = true;
  while (node.drawn !== node.wanted) {
    node.drawn = node.wanted;
    try {
      const Plotly = await loadPlotly(node.wanted.src);
      await turn();
      node.drawn = node.wanted;
      await drawNow(Plotly, node);
    } catch (error) {
      if (!node.isConnected) break; // the reader left while it was being drawn
      console.error("live_figure:", error);
      giveUp(node);
    }
  }
  node.busy = false;
  markHeadline();
}

// A layout so many px taller, its legend as far below the drawing as before.
function taller(layout, room) {
  if (!room) return layout;
  const drawing = layout.height - layout.margin.t - layout.margin.b;
  const legend = layout.legend && { ...layout.legend, y: (layout.legend.y * drawing) / (drawing + room) };
  return { ...layout, height: layout.height + room, legend };
}

async function drawNow(Plotly, node) {
  const { figure, alt, height, scale, room } = node.drawn;
  const { data, layout } = JSON.parse(figure);
  node.setAttribute("role", "figure"); // an img would hide its tools, which the keyboard reaches, from screen readers
  node.setAttribute("aria-label", alt);
  const width = node.clientWidth;
  const wide = { uirevision: "keep", ...layout, height, width: undefined, autosize: true };
  const fitting = taller(width && width < NARROW ? merge(wide, layout.meta?.narrow) : wide, room);
  node.style.height = `${fitting.height}px`;
  node.style.marginBottom = `${(scale - 1) * fitting.height}px`;
  if (!node.drawnWidth) node.replaceChildren(); // the waiting text
  const turned = node.drawnWidth && width < NARROW !== node.drawnWidth < NARROW;
  node.drawnWidth = width || Infinity;
  keepZoom(node, fitting);
  if (BY_FINGER.matches) fitting.dragmode = false;
  node.classList.toggle("labelled", !fitting.showlegend);
  const tools = BY_FINGER.matches ? { displayModeBar: false, doubleClick: false } : { displayModeBar: "hover" };
  await Plotly.react(node, data, fitting, { ...CONFIG, ...tools });
  if (turned) await Plotly.redraw(node); // the first leaves the legend where the other layout's margins had it
  for (const [name, { range }] of Object.entries(node.own)) {
    const axis = node._fullLayout[name];
    [axis._rangeInitial0, axis._rangeInitial1] = range; // where "Reset axes" leads; plotly keeps its first figure's
  }
  // The sentence and the numbers say it better than labels without their places.
  for (const drawing of node.querySelectorAll(".main-svg")) drawing.setAttribute("aria-hidden", "true");
  node.wide = layout;
  clearTimeout(node.filling);
  if (node.sent.beside) node.filling = setTimeout(() => node._fullData && fillNumbers(node), RESTS);
  else fillNumbers(node);
  if (stateNow(node.latest) !== stateOf(node.latest)) keepUp(node); // the reader moved on meanwhile
}

function giveUp(node) {
  window.Plotly?.purge(node);
  node.drawnWidth = 0;
  node.wide = null;
  node.numbers.hidden = true;
  node.removeAttribute("role"); // the sentence is to be read, not the description of a missing picture
  node.removeAttribute("aria-label");
  node.textContent = "The chart could not be drawn. Reload the page to try again.";
}

// A slider's value in words, as it stands on the screen; undefined for what is no slider.
const sliderText = (key) =>
  document.querySelector(`.st-key-${CSS.escape(key)} input[type=range]`)?.getAttribute("aria-valuetext");

// What the controls said when the server drew a picture, as one text, and what they say now: the browser knows where a
// slider stands before the server does.
const stateOf = ({ state }) => JSON.stringify(Object.entries(state));
const stateNow = ({ state }) => JSON.stringify(Object.entries(state).map(([key, said]) => [key, sliderText(key) ?? said]));
const restOf = ({ state }) => JSON.stringify(Object.entries(state).filter(([key]) => sliderText(key) === undefined));

// Another data set or view begins anew: of records that were taken away no picture stays.
function remember(node, picture) {
  const rest = restOf(picture);
  if (rest !== node.rest) node.remembered.clear();
  node.rest = rest;
  node.remembered.delete(stateOf(picture));
  node.remembered.set(stateOf(picture), picture);
  if (node.remembered.size > REMEMBERED) node.remembered.delete(node.remembered.keys().next().value);
}

const looksAlike = (one, other) => ["figure", "alt", "height", "scale", "room"].every((part) => one[part] === other[part]);

function show(node, picture) {
  node.latest = picture; // what looks the same may stand for another state
  if (node.wanted && looksAlike(node.wanted, picture)) return;
  node.wanted = picture;
  draw(node);
}

// Fetches the pictures beside the one that was asked for, once that is on the screen: at other places of the slider that
// was moved last. The server gives none where it has other things to do; then the slider waits for its answers.
async function prefetch(node, { ahead, ...picture }) {
  const last = node.prefetched;
  // The page was run again and came to the same.
  if (last?.complete && looksAlike(last.picture, picture) && stateOf(last.picture) === stateOf(picture)) return;
  last?.control.abort();
  const mine = (node.prefetched = { picture, control: new AbortController(), complete: false });
  if (!ahead) return;
  try {
    await turn();
    while (!mine.complete) {
      const answer = await fetch(new URL(ahead, document.baseURI), { signal: mine.control.signal, priority: "low" });
      if (answer.status !== 200) return;
      const { pictures, more } = await answer.json();
      for (const found of pictures.map((it) => ({ ...picture, ...it, scale: picture.scale })))
        if (restOf(found) === node.rest) remember(node, found);
      mine.complete = !more;
      keepUp(node); // the reader may have moved there meanwhile
    }
  } catch {
    // The reader moved on, or the server is gone.
  }
}

// After a slider's move: a picture that was here before is shown again, while the server still works on it; it comes
// to the same, and if it does not, the server's takes its place.
// Without one, the cursor follows the hand that holds it or a slider; let go, the slider tells the server, and no drawing
// may make that wait.
function keepUp(node) {
  const known = node.latest && node.remembered.get(stateNow(node.latest));
  if (known) show(node, known);
  else if (node.wide && document.querySelector(HELD)) moveCursor(node, sliderText("epsilon"));
}

// While the slider of epsilon is dragged, the cursor follows on the curves that are there; new ones come on its release.
function moveCursor(node, said) {
  const { shapes = [], annotations = [] } = node.layout;
  const flag = annotations.findIndex((it) => it.name === "cursor" && it.text.startsWith("ε = "));
  if (flag < 0 || !said || annotations[flag].text === `ε = ${said}`) return;
  const change = { [`annotations[${flag}].x`]: Math.log10(Number(said)), [`annotations[${flag}].text`]: `ε = ${said}` };
  shapes.forEach(({ name }, i) => {
    if (name === "cursor") change[`shapes[${i}].x0`] = change[`shapes[${i}].x1`] = Number(said);
  });
  window.Plotly.relayout(node, change);
}

// A slider says its value in words as it moves, and tells the server when it is let go. One observer serves all charts.
function watchSliders() {
  window.sliderWatch ??= new MutationObserver((changes) => {
    const moved = changes.some(({ attributeName }) => attributeName === "aria-valuetext");
    if (moved) document.querySelectorAll(".live-figure").forEach(keepUp);
    markHeadline();
  });
  const attributeFilter = ["aria-valuetext", "data-test-script-state"]; // the second: whether the page's script runs
  window.sliderWatch.observe(document.body, { subtree: true, attributeFilter });
}

// Screen readers hear the first sentence once the page has answered a move.
function announce() {
  const said = document.querySelector(".takeaway")?.textContent ?? "";
  if (!window.headlineSaid) {
    window.headlineSaid = Object.assign(document.createElement("div"), { className: "announced", role: "status" });
    document.body.append(window.headlineSaid);
    window.headlineHeard = said; // it is read as a part of the page
  }
  if (said === window.headlineHeard) return;
  window.headlineSaid.textContent = window.headlineHeard = said;
}

// The pictures are ahead of the page's sentences, which come from the server, or behind them, on a busy computer: the
// headline is pale from a slider's move until the script that answers it has ended, and until the page's chart is drawn.
function markHeadline() {
  const late = ({ busy, sent }) => busy && !sent.beside;
  const moved = ({ said }) => said && stateNow(said) !== stateOf(said);
  const running = document.querySelector("[data-test-script-state=running]");
  const page = document.documentElement;
  if ([...document.querySelectorAll(".live-figure")].some((node) => moved(node) || late(node))) page.dataset.ahead = "";
  else if (!running) {
    delete page.dataset.ahead;
    announce();
  }
}

// Show what the server said, laid out for the window as it is.
function place(node) {
  const data = node.sent;
  const share = Math.min(window.innerWidth / HALL[0], window.innerHeight / HALL[1]);
  const scale = data.scale === 1 || window.innerWidth < PHONE ? 1 : Math.max(1, data.scale * share);
  // What the window is taller than that of the hall is the chart's, in px before it is stretched.
  const left = window.innerHeight - share * HALL[1] - data.height * (scale - data.scale * share);
  const room = data.scale === 1 || window.innerWidth <= STACKED ? 0 : Math.max(0, left / scale);
  const picture = { ...data, scale, room };
  // A figure made larger is laid out in less room and then stretched, labels, lines and gaps alike.
  node.style.transform = scale === 1 ? "" : `scale(${scale})`;
  node.style.transformOrigin = "0 0";
  node.style.width = `${100 / scale}%`;
  if (!node.drawnWidth) node.style.height = `${data.height + room}px`;
  node.said = picture;
  remember(node, picture);
  show(node, node.remembered.get(stateNow(picture)) ?? picture); // the reader may have moved on
  markHeadline();
  prefetch(node, picture);
}

// Streamlit calls this at the first mount and again, with the same parent, whenever the data changes.
export default function ({ data, parentElement }) {
  if (!data.figure) return void loadPlotly(data.src).catch(() => {}); // the first figure tries again, and says so
  const node = parentElement.querySelector(".live-figure") ?? create(parentElement, data.beside);
  watchSliders();
  node.sent = data;
  place(node);
  return () => {
    // Streamlit also runs the clean-up of a call that was overtaken by a newer one, while the node lives on.
    if (node.isConnected) return;
    node.observer.disconnect();
    window.removeEventListener("resize", node.resized);
    node.prefetched?.control.abort();
    window.Plotly?.purge(node);
  };
}
