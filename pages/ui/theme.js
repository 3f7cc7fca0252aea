// Streamlit takes the system's new theme at once, but draws no picture and no words in it: this asks for a run of the page.
const DARK = window.matchMedia("(prefers-color-scheme: dark)");
const TAKEN = 500; // ms until Streamlit has taken the theme

// Streamlit's pickers hand Tab on and arrows from option to option, but are entered at the first one, or where the reader
// was last: this enters them at what is chosen. A mouse makes no focus visible and keeps the option that it presses.
document.addEventListener("focusin", ({ target, relatedTarget }) => {
  const picker = target.closest("[role=radiogroup]");
  if (!picker || picker.contains(relatedTarget) || !document.activeElement.matches(":focus-visible")) return;
  picker.querySelector("[aria-checked=true]")?.focus();
});

// Over plain HTTP, as in a class, browsers have no clipboard for scripts, and Streamlit's buttons would copy nothing and
// not say so: a selected text can be copied everywhere.
async function writeText(text) {
  const [field, before] = [document.createElement("textarea"), document.activeElement];
  field.value = text;
  field.style.position = "fixed"; // no scrolling
  document.body.append(field);
  field.select();
  const copied = document.execCommand("copy");
  field.remove();
  before?.focus({ preventScroll: true });
  if (!copied) throw new Error("the browser copies nothing");
}
if (!navigator.clipboard) Object.defineProperty(navigator, "clipboard", { value: { writeText } });

// Streamlit calls this at each run.
export default function ({ setTriggerValue }) {
  DARK.onchange = () => setTimeout(setTriggerValue, TAKEN, "theme", DARK.matches);
}
