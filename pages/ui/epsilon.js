// Epsilon by hand: the cursor of a chart over ε is a handle of the slider, a click into the chart brings it there, and a
// button plays the slider from end to end.
const GRID = EPSILON_GRID; // of sidebar.py
const LOGS = GRID.map(Math.log10);
const NEAR = { mouse: 6, pen: 10, touch: 18 }; // px from the cursor's line
const DOUBLE = 300; // ms; a double click undoes a zoom

// The slider, unless a link or a lecture hides it.
function slider() {
  const input = document.querySelector(".st-key-epsilon input[type=range]:enabled");
  return input?.getClientRects().length ? input : null;
}

const place = () => Number(slider().value);

// A slider takes a value as one that is being dragged, and tells the server nothing.
function drag(k) {
  const input = slider();
  if (!input || Number(input.value) === k) return;
  Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set.call(input, k);
  input.dispatchEvent(new Event("input", { bubbles: true }));
}

// It takes an arrow key as the end of a move.
function letGo(k) {
  drag(k ? k - 1 : 1);
  const key = { key: k ? "ArrowRight" : "ArrowLeft", bubbles: true, cancelable: true };
  for (const kind of ["keydown", "keyup"]) slider()?.dispatchEvent(new KeyboardEvent(kind, key));
}

// What a panel makes of a pointer there: the nearest place of the slider, and whether the cursor's line is at hand.
// Nothing where the panel has no axis of ε.
function over(panel, { clientX, pointerType }) {
  const node = panel?.closest(".live-figure");
  const flag = node?.layout?.annotations?.find((it) => it.name === "cursor" && it.text.startsWith("ε = "));
  if (!flag || !slider()) return null;
  const [axis, main] = [panel.dataset.subplot.match(/^x\d*/)[0], flag.xref].map((id) => node._fullLayout[`xaxis${id.slice(1)}`]);
  if (axis?.type !== "log" || String(axis.range) !== String(main?.range)) return null;
  const [box, [low, high]] = [panel.getBoundingClientRect(), axis.range];
  const at = low + ((clientX - box.left) / box.width) * (high - low);
  const k = LOGS.reduce((best, log, i) => (Math.abs(log - at) < Math.abs(LOGS[best] - at) ? i : best), 0);
  const gap = Math.abs(((LOGS[place()] - at) / (high - low)) * box.width);
  const zoomed = axis.range.some((end, i) => end !== axis[`_rangeInitial${i}`]);
  return { node, k, zoomed, near: gap <= NEAR[pointerType] };
}

let held = null; // the panel whose line is in the hand
let pressed = null; // where a click began
let late = 0; // a click that may become a double one

function down(event) {
  clearTimeout(late);
  const panel = event.target.closest?.(".live-figure .nsewdrag");
  const found = event.button === 0 && over(panel, event);
  pressed = found ? { panel, x: event.clientX, y: event.clientY } : null;
  if (!found?.near) return;
  event.preventDefault(); // plotly would begin to zoom
  event.stopPropagation();
  panel.setPointerCapture(event.pointerId);
  panel.addEventListener("touchmove", stay, { passive: false });
  held = { panel, from: place() };
}

// A finger that begins along the axis takes the line with it; one that begins up or down scrolls the page, as
// elsewhere. The style's touch-action alone lets the browser scroll, and cancel the drag, as soon as a finger slants.
function stay(event) {
  const [{ clientX, clientY }] = event.touches;
  if (held) held.along ||= Math.abs(clientX - pressed.x) > Math.abs(clientY - pressed.y);
  if (held?.along && event.cancelable) event.preventDefault();
}

function move(event) {
  if (held) return void drag(over(held.panel, event)?.k ?? place());
  if (event.buttons) return;
  const found = over(event.target.closest?.(".live-figure .nsewdrag"), event);
  document.querySelectorAll(".at-cursor").forEach((it) => it.classList.toggle("at-cursor", it === found?.node));
  found?.node.classList.toggle("at-cursor", found.near);
}

function up(event) {
  const [hand, began] = [held, pressed];
  held = pressed = null;
  if (hand) {
    if (event.type === "pointercancel") drag(hand.from);
    else if (place() !== hand.from) letGo(place());
  } else if (began && event.type === "pointerup" && Math.hypot(event.clientX - began.x, event.clientY - began.y) < 4) {
    const found = over(began.panel, event);
    if (found && found.k !== place()) late = setTimeout(letGo, found.zoomed ? DOUBLE : 0, found.k);
  }
}

// Each place in turn, as long as the page takes to show it, and once; another press stops it.
async function play(button) {
  const show = (playing) => {
    button.dataset.playing = playing;
    button.textContent = playing ? "■ Stop" : "▶ Play";
  };
  if (button.dataset.playing === "true") return show(false);
  show(true);
  const least = matchMedia("(prefers-reduced-motion: reduce)").matches ? 1000 : 450; // ms a place
  for (let k = 0; k < GRID.length && button.dataset.playing === "true" && button.isConnected && slider(); k++) {
    letGo(k);
    const begun = performance.now();
    const busy = () => document.querySelector("[data-test-script-state=running]") || "ahead" in document.documentElement.dataset;
    do await new Promise((done) => setTimeout(done, 50));
    while (performance.now() - begun < least || (busy() && performance.now() - begun < 5000));
    if (slider() && place() !== k) break; // the reader has taken over
  }
  show(false);
}

// Streamlit calls this at each run, after the clean-up of the call before.
export default function ({ parentElement }) {
  let button = parentElement.querySelector("button");
  if (!button) {
    button = Object.assign(document.createElement("button"), { type: "button", className: "play", textContent: "▶ Play" });
    button.title = "Moves ε over its whole scale, once";
    button.addEventListener("click", () => play(button));
    parentElement.append(button);
  }
  const listeners = { pointerdown: down, pointermove: move, pointerup: up, pointercancel: up };
  for (const [kind, listener] of Object.entries(listeners)) document.addEventListener(kind, listener, true);
  return () => {
    for (const [kind, listener] of Object.entries(listeners)) document.removeEventListener(kind, listener, true);
  };
}
