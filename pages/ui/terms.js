// Explains terms where they stand: one that is pointed at, focused or tapped shows its meaning. The first of each kind is
// marked in the texts of the page, and the first in the labels of the controls; a lecture has neither.
const MEANINGS = GLOSSARY; // of terms.py: term -> meaning

const SAID = "[data-testid=stMain] :is(.takeaway, [data-testid=stMarkdownContainer] p)";
const LABEL = "[data-testid=stWidgetLabel]";
const NEVER = "button, a, summary, code, dfn, .katex, .live-figure";
const ANY = new RegExp(`(?<![\\p{L}-])(${Object.keys(MEANINGS).sort((a, b) => b.length - a.length).join("|")})s?(?![\\p{L}-])`, "giu");

let marks = []; // of texts that the page's own scripts go on using: each stays in its place and is cut short
let seen = ""; // the texts that were marked last

function unmark() {
  for (const { text, whole, first, added } of marks) {
    for (const node of added) node.remove();
    if (text.data === first) text.data = whole; // else the page has changed it meanwhile
  }
  marks = [];
}

// Splits a text after each term that was not met before.
function markText(text, met) {
  const parts = [];
  let end = 0;
  for (const found of text.data.matchAll(ANY)) {
    const term = found[1].toLowerCase();
    if (met.has(term)) continue;
    met.add(term);
    const mark = document.createElement("dfn");
    Object.assign(mark, { className: "term", textContent: found[0] });
    if (!text.parentElement.closest(LABEL)) mark.tabIndex = 0; // a label's term is asked for by its control
    mark.dataset.meaning = MEANINGS[term];
    parts.push(text.data.slice(end, found.index), mark);
    end = found.index + found[0].length;
  }
  if (!parts.length) return;
  const [whole, [first, ...rest]] = [text.data, [...parts, text.data.slice(end)]];
  const added = rest.map((part) => (part.nodeType ? part : document.createTextNode(part)));
  text.data = first;
  text.after(...added);
  marks.push({ text, whole, first, added });
}

// Older browsers do not tell what is folded away.
const isSeen = (it) => it.checkVisibility?.() ?? it.getClientRects().length > 0;

function markAll() {
  const lecture = document.querySelector(".st-key-lecture_bar");
  const scopes = [SAID, `${LABEL} p`].map((each) =>
    lecture ? [] : [...document.querySelectorAll(each)].filter((it) => !it.closest(NEVER) && isSeen(it)));
  const now = scopes.flat().map((it) => it.textContent).join("\n");
  if (now === seen && marks.every(({ added }) => added.every((it) => it.isConnected))) return;
  hide();
  unmark();
  for (const places of scopes) {
    const met = new Set();
    for (const place of places) {
      const walker = document.createTreeWalker(place, NodeFilter.SHOW_TEXT);
      const texts = [];
      while (walker.nextNode()) if (!walker.currentNode.parentElement.closest(NEVER)) texts.push(walker.currentNode);
      for (const text of texts) markText(text, met);
    }
  }
  seen = scopes.flat().map((it) => it.textContent).join("\n");
}

const tip = Object.assign(document.createElement("div"), { id: "meaning", role: "tooltip", hidden: true });
let shown = null; // the term
let asking = null; // it, or the control whose label has it
let refused = null; // the meaning that Escape has hidden, while the pointer rests on its term

function show(term, by) {
  hide();
  [shown, asking] = [term, by];
  by.setAttribute("aria-describedby", tip.id);
  tip.textContent = term.dataset.meaning;
  tip.hidden = false;
  place();
}

// Below the term, or above it where there is no room or a control; it follows what is scrolled.
function place() {
  if (!shown) return;
  const [at, box] = [shown.getBoundingClientRect(), tip.getBoundingClientRect()];
  tip.style.left = `${Math.max(8, Math.min(at.left, document.documentElement.clientWidth - box.width - 8))}px`;
  const above = at.bottom + box.height + 8 > innerHeight || (shown.closest(LABEL) && at.top > box.height + 8);
  tip.style.top = `${above ? at.top - box.height - 4 : at.bottom + 4}px`;
}

function hide() {
  asking?.removeAttribute("aria-describedby");
  shown = asking = null;
  tip.hidden = true;
}

// At a term its meaning is shown; elsewhere none is, but a pointer may rest on the meaning itself. A control that the
// keyboard comes to asks for its label's.
function look({ type, target }) {
  const labelled = type === "focusin" && target.matches(":focus-visible") && target.closest(".stElementContainer");
  const term = target.closest?.("dfn.term") ?? (labelled ? labelled.querySelector(`${LABEL} dfn.term`) : null);
  if (type === "pointerover") {
    if (term?.dataset.meaning === refused) return; // the page was drawn again below the pointer
    refused = null;
  }
  if (term && term !== shown) show(term, labelled ? target : term);
  else if (!term && shown && target !== tip && (type === "focusin" || asking !== document.activeElement)) hide();
}

function listen() {
  document.body.append(tip);
  for (const kind of ["pointerover", "pointerdown", "focusin"]) document.addEventListener(kind, look);
  document.addEventListener("focusout", hide);
  document.addEventListener("scroll", place, true);
  document.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape") return;
    refused = shown?.dataset.meaning ?? refused;
    hide();
  });
  // A tap on a term in a label asks for its meaning, and moves no control.
  document.addEventListener("click", (event) => event.target.closest?.("dfn.term") && event.preventDefault(), true);
  let waiting = 0;
  const later = () => (waiting ||= requestAnimationFrame(() => { waiting = 0; markAll(); }));
  new MutationObserver(later).observe(document.body, { subtree: true, childList: true, characterData: true });
  later();
}

// Streamlit calls this at each run; all pages of a visit share the one listener.
export default function () {
  if (!window.termsExplained) listen();
  window.termsExplained = true;
}
