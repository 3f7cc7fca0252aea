// Streamlit takes the system's new theme at once, but draws no picture and no words in it: this asks for a run of the page.
const DARK = window.matchMedia("(prefers-color-scheme: dark)");
const TAKEN = 500; // ms until Streamlit has taken the theme

// Streamlit calls this at each run.
export default function ({ setTriggerValue }) {
  DARK.onchange = () => setTimeout(setTriggerValue, TAKEN, "theme", DARK.matches);
}
