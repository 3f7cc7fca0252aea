// PageDown and PageUp turn the lecture's steps, as its two buttons do. The arrow keys stay with the slider that has
// the focus.
const BUTTONS = { PageDown: ".st-key-next button", PageUp: ".st-key-back button" };

// Streamlit calls this again at every run, after the clean-up of the call before.
export default function ({ parentElement }) {
  const turn = (event) => {
    if (!(event.key in BUTTONS)) return;
    event.preventDefault(); // no scrolling
    if (!event.repeat) document.querySelector(BUTTONS[event.key])?.click();
  };
  document.addEventListener("keydown", turn, true);
  parentElement.dataset.listens = "yes";
  return () => document.removeEventListener("keydown", turn, true);
}
