// Brings what a click or a link has opened below a picture into sight, and closes it on Escape.
const SETTLES = 5000; // ms in which formulas and tables come to their height

// Streamlit calls this at each run; another choice is mounted anew.
export default function ({ parentElement }) {
  const box = parentElement.closest(".st-key-details");
  if (!parentElement.dataset.opened) {
    parentElement.dataset.opened = "yes";
    const observer = new ResizeObserver(() => box.scrollIntoView({ block: "nearest" }));
    observer.observe(box);
    const stop = () => observer.disconnect();
    setTimeout(stop, SETTLES);
    for (const kind of ["wheel", "touchmove", "keydown"]) addEventListener(kind, stop, { once: true }); // the reader scrolls
  }
  const close = (event) => {
    const inside = box.contains(document.activeElement) || document.activeElement === document.body;
    if (event.key !== "Escape" || !inside || document.querySelector("#meaning:not([hidden])")) return;
    const chosen = box.querySelector(".st-key-behind [aria-checked=true]");
    chosen?.focus();
    chosen?.click();
  };
  addEventListener("keydown", close, true);
  return () => removeEventListener("keydown", close, true);
}
