// A row of chips, which says in every message of the browser which of them were pressed last: the browser half of chips.py.
const SAID = 8; // presses

const shownBy = (key) => document.querySelector(`.st-key-${CSS.escape(key)} input[type=range]`)?.getAttribute("aria-valuetext");

function chip(label, keys, press) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = label;
  button.onclick = () => {
    const shown = Object.fromEntries(keys.map((key) => [key, shownBy(key)]).filter(([, text]) => text));
    press({ chip: label, at: Date.now(), shown });
  };
  return button;
}

// Streamlit calls this at each run; the same chips stay, and with them the focus.
export default function ({ data, parentElement, setStateValue }) {
  let row = parentElement.querySelector(".chips");
  if (!row) {
    row = document.createElement("div");
    row.className = "chips";
    parentElement.append(row);
  }
  const offered = JSON.stringify(data);
  if (row.dataset.offered === offered) return;
  row.dataset.offered = offered;
  const press = (pressed) => {
    row.pressed = [...(row.pressed ?? []), pressed].slice(-SAID);
    setStateValue("pressed", row.pressed);
  };
  const chips = Object.entries(data).map(([label, keys]) => chip(label, keys, press));
  row.replaceChildren(...(chips.length ? ["Try:", ...chips] : []));
}
