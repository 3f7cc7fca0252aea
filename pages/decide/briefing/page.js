// Draws the charts, turns pages by keyboard, and makes every slide fit its sheet of paper.
"use strict";

const NARROW = 700; // px of a screen; as in page.css
const LARGER = 1.55; // times, on a wall and on paper: letters of 13 px are read from the last row
const LEAST = 0.6; // below that nobody can read it; content.py allows no text that needs less
const CONFIG = {
  displaylogo: false,
  responsive: false, // drawn anew below: a sheet of paper sends no event of a new size
  showSendToCloud: false,
  plotlyServerURL: "",
  topojsonURL: "about:blank",
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
  toImageButtonOptions: { scale: 3 },
};

const figures = JSON.parse(document.getElementById("charts").textContent);
const sheet = document.getElementById("print");
const slides = [...document.querySelectorAll(".slide")];
const isObject = (value) => value?.constructor === Object;

function merge(base, change) {
  const result = { ...base };
  for (const [key, value] of Object.entries(change ?? {})) {
    result[key] = isObject(value) && isObject(base?.[key]) ? merge(base[key], value) : value;
  }
  return result;
}

function draw(node, onPaper) {
  const { data, layout } = figures[node.dataset.chart];
  const narrow = !onPaper && window.innerWidth < NARROW;
  const fitting = narrow ? merge(layout, layout.meta?.narrow) : layout;
  const scale = narrow ? 1 : LARGER;
  node.style.height = `${fitting.height}px`;
  node.style.width = `${100 / scale}%`;
  node.style.transform = `scale(${scale})`;
  node.style.marginBottom = `${(scale - 1) * fitting.height}px`;
  window.Plotly.react(node, data, { ...fitting, width: node.clientWidth }, { ...CONFIG, displayModeBar: onPaper ? false : "hover" });
}

function drawAll(onPaper) {
  for (const node of document.querySelectorAll(".chart")) draw(node, onPaper);
}

// With the paper's style sheet on: charts as wide as the paper, and type as small as the fullest slide needs.
function toPaper() {
  sheet.media = "all";
  drawAll(true);
  for (const slide of slides) {
    let shrink = 1;
    slide.style.setProperty("--shrink", shrink);
    while (slide.scrollHeight > slide.clientHeight && shrink > LEAST) {
      shrink -= 0.02;
      slide.style.setProperty("--shrink", shrink);
    }
  }
}

function toScreen() {
  sheet.media = "print";
  drawAll(false);
}

// The slide that covers the middle of the screen.
function current() {
  const middle = window.innerHeight / 2;
  return slides.findLastIndex((slide) => slide.getBoundingClientRect().top <= middle);
}

function turn(event) {
  const steps = { PageDown: current() + 1, PageUp: current() - 1, Home: 0, End: slides.length - 1 };
  if (!(event.key in steps) || event.altKey || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  const target = slides[Math.min(Math.max(steps[event.key], 0), slides.length - 1)];
  target.focus({ preventScroll: true });
  target.scrollIntoView();
}

drawAll(false);
// A chart whose place on the screen has another width than its drawing.
const refit = (node) => sheet.media === "print" && node.clientWidth !== node._fullLayout.width && draw(node, false);
const observer = new ResizeObserver((places) => requestAnimationFrame(() => places.forEach(({ target }) => refit(target))));
document.querySelectorAll(".chart").forEach((node) => observer.observe(node));
window.addEventListener("beforeprint", toPaper);
window.addEventListener("afterprint", toScreen);
document.addEventListener("keydown", turn);
