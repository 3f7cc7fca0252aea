// Draws a plotly figure in place: the browser half of live_figure.py.

const NARROW = 560; // px
const PHONE = 768; // px of the window: nobody projects from a narrower one, and nothing is made larger there
const CONFIG = {
  displaylogo: false,
  // plotly.js 4 offers to upload the chart to its maker's servers unless told otherwise.
  showSendToCloud: false,
  plotlyServerURL: "",
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  toImageButtonOptions: { scale: 3 },
};

let library = null; // one promise per page, shared by all figures

function loadPlotly(src) {
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    // Relative to the page's address, as Streamlit's own scripts are: right below any base path.
    script.src = new URL(src, document.baseURI).href;
    const fail = () => {
      library = null; // the next update tries again
      script.remove();
      reject(new Error(`${script.src} did not load`));
    };
    script.onload = () => (window.Plotly ? resolve(window.Plotly) : fail());
    script.onerror = fail;
    document.head.append(script);
  });
  return library;
}

const isObject = (value) => value?.constructor === Object;

function merge(base, change) {
  const result = { ...base };
  for (const [key, value] of Object.entries(change ?? {})) {
    result[key] = isObject(value) && isObject(base?.[key]) ? merge(base[key], value) : value;
  }
  return result;
}

function create(parent) {
  const node = document.createElement("div");
  node.className = "live-figure";
  node.turn = 0;
  node.textContent = "Drawing the chart …";
  parent.append(node);
  node.observer = new ResizeObserver(() => fit(node));
  node.observer.observe(node);
  return node;
}

// Adapt a drawn chart to a new width. A chart in a hidden tab has no width and waits.
function fit(node) {
  const width = node.clientWidth;
  if (!node.drawnWidth || !width || width === node.drawnWidth) return;
  if (width < NARROW !== node.drawnWidth < NARROW) {
    draw(node);
  } else {
    node.drawnWidth = width;
    window.Plotly.Plots.resize(node);
  }
}

async function draw(node) {
  const turn = ++node.turn;
  const { figure, height, scale, src } = node.wanted;
  try {
    const Plotly = await loadPlotly(src);
    if (turn !== node.turn) return; // a newer figure came while the library loaded
    const { data, layout } = JSON.parse(figure);
    const width = node.clientWidth;
    const wide = { uirevision: "keep", ...layout, height, width: undefined, autosize: true };
    const fitting = width && width < NARROW ? merge(wide, layout.meta?.narrow) : wide;
    node.style.height = `${fitting.height}px`;
    node.style.marginBottom = `${(scale - 1) * fitting.height}px`;
    if (!node.drawnWidth) node.replaceChildren(); // the waiting text
    node.drawnWidth = width || Infinity;
    await Plotly.react(node, data, fitting, CONFIG);
  } catch (error) {
    if (!node.isConnected) return; // the reader left while it was being drawn
    console.error("live_figure:", error);
    if (turn !== node.turn) return;
    window.Plotly?.purge(node);
    node.drawnWidth = 0;
    node.removeAttribute("role"); // the sentence is to be read, not the description of a missing picture
    node.removeAttribute("aria-label");
    node.textContent = "The chart could not be drawn. Reload the page to try again.";
  }
}

// Streamlit calls this at the first mount and again, with the same parent, whenever the data changes.
export default function ({ data, parentElement }) {
  const node = parentElement.querySelector(".live-figure") ?? create(parentElement);
  const scale = window.innerWidth < PHONE ? 1 : data.scale;
  node.wanted = { ...data, scale };
  node.setAttribute("role", "img");
  node.setAttribute("aria-label", data.alt);
  // A figure made larger is laid out in less room and then stretched, labels, lines and gaps alike.
  node.style.transform = scale === 1 ? "" : `scale(${scale})`;
  node.style.transformOrigin = "0 0";
  node.style.width = `${100 / scale}%`;
  if (!node.drawnWidth) node.style.height = `${data.height}px`;
  draw(node);
  return () => {
    // Streamlit also runs the clean-up of a call that was overtaken by a newer one, while the node lives on.
    if (node.isConnected) return;
    node.observer.disconnect();
    window.Plotly?.purge(node);
  };
}
