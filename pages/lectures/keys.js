// PageDown and PageUp turn the lecture's steps. The arrow keys stay with the slider that has the focus.
const TURNS = { PageDown: 1, PageUp: -1 };

// Streamlit calls this again at every run, after the clean-up of the call before.
export default function ({ setTriggerValue }) {
  const turn = (event) => {
    if (!(event.key in TURNS)) return;
    event.preventDefault(); // no scrolling
    if (!event.repeat) setTriggerValue("turn", TURNS[event.key]);
  };
  document.addEventListener("keydown", turn, true);
  return () => document.removeEventListener("keydown", turn, true);
}
