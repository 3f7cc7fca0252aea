// A phone in a room: it shows the question that stands, and sends one answer to it. The message is stored before it is
// sent, and whatever is sent again is what was stored: a second tap, a reload or a bad network cause no second draw.
import { epsilonOf, isFair, percentKept, randomised } from "./coin.js";

const LOOK_MS = 2000;
const LONGEST_MS = 30_000;
const NOT_KEPT = "This browser keeps nothing, and could answer twice: it sends nothing. Leave its private mode.";
const part = (id) => document.getElementById(id);
const said = (text) => {
  if (part("said").textContent !== text) part("said").textContent = text; // or it would be read out again
};

let code = "";
let asked = null; // the question on the screen
let counted = ""; // the name of this question once the server has the answer, or refuses it
let failures = 0;
let timer = 0;

const key = (name) => `answer ${code} ${name}`;
const stored = (name) => localStorage.getItem(key(name));

// A random number by which the room knows this phone, and which says nothing about it.
function phone() {
  const name = `phone ${code}`;
  if (!localStorage.getItem(name)) {
    const drawn = crypto.getRandomValues(new Uint8Array(16));
    localStorage.setItem(name, Array.from(drawn, (byte) => byte.toString(16).padStart(2, "0")).join(""));
  }
  return localStorage.getItem(name);
}

function keeps() {
  try {
    return phone() !== null;
  } catch {
    return false;
  }
}

function enter(text) {
  code = text.trim().toUpperCase();
  history.replaceState(null, "", `?room=${encodeURIComponent(code)}`);
  part("enter").hidden = true;
  look();
}

function leave(sentence) {
  asked = null;
  part("room").hidden = true;
  part("enter").hidden = false;
  part("code").value = code;
  code = "";
  said(sentence);
}

async function ask(what, options = {}) {
  const place = new URL(`join/${encodeURIComponent(code)}/${what}`, document.baseURI);
  const reply = await fetch(place, { cache: "no-store", signal: AbortSignal.timeout(10_000), ...options });
  return [reply.status, await reply.json()];
}

// Look for the question, send what is not counted yet, and look again later.
async function look() {
  clearTimeout(timer);
  const room = code;
  try {
    const [status, found] = await ask("question");
    if (room !== code) return;
    if (status === 404) return leave(found.refused);
    if (status !== 200) throw new Error(found.refused);
    failures = 0;
    show(found.question);
    await send();
  } catch (problem) {
    failures += 1;
    said(problem.name === "Error" ? problem.message : "No connection. Trying again …");
  }
  later();
}

function later() {
  clearTimeout(timer);
  const wait = Math.min(LOOK_MS * 2 ** failures, LONGEST_MS);
  if (code && !document.hidden) timer = setTimeout(look, wait * (0.75 + Math.random() / 2));
}

function show(question) {
  part("room").hidden = false;
  if (question?.name !== asked?.name || !asked) draw(question);
  if (!question) said("");
}

function draw(question) {
  asked = question;
  counted = "";
  part("answers").replaceChildren();
  part("coin").textContent = part("rule").textContent = "";
  said("");
  if (!question) {
    part("words").textContent = "Look at the screen. The next question will appear here.";
    return;
  }
  part("words").textContent = question.words;
  if (question.keep !== null && !isFair(question.keep)) {
    part("coin").textContent = "The coin of this question is not fair: this phone does not answer it.";
    return;
  }
  if (!keeps()) return said(NOT_KEPT);
  if (stored(question.name) !== null) return showSent();
  question.answers.forEach((text, answer) => {
    const button = document.createElement("button");
    button.textContent = text;
    button.addEventListener("click", () => choose(answer));
    part("answers").append(button);
  });
  part("coin").textContent = question.keep === null ? "" : coinSaid(question.keep);
  part("rule").textContent = "You have one answer: the first counts, and cannot be changed.";
}

function coinSaid(keep) {
  const kept = percentKept(keep).toFixed(1);
  return (
    `Your phone flips a coin: it sends what you tap with probability ${kept}%, and the other answer otherwise. ` +
    `What you tap is neither sent nor stored. The privacy loss of what is sent is ε = ${epsilonOf(keep).toPrecision(3)}.`
  );
}

function choose(answer) {
  if (stored(asked.name) === null) {
    const message = asked.keep === null ? answer : randomised(answer, asked.keep);
    try {
      localStorage.setItem(key(asked.name), String(message));
    } catch {
      said(NOT_KEPT);
      return;
    }
  }
  showSent();
  look();
}

function showSent() {
  part("answers").replaceChildren();
  const sent = document.createElement("p");
  sent.className = "sent";
  sent.textContent = `Sent: ${asked.answers[Number(stored(asked.name))]}`;
  part("answers").append(sent);
  part("coin").textContent = "";
  part("rule").textContent =
    asked.keep === null
      ? "This answer counts, and cannot be changed."
      : "This is all that left your phone, and it stays your answer in this room. Do not answer again in a private " +
        "window or another browser: each would flip a coin of its own, and tell more about you.";
  part("words").focus();
}

async function send() {
  if (!asked || counted === asked.name || !keeps() || stored(asked.name) === null) return;
  const { name } = asked;
  const body = JSON.stringify({ phone: phone(), question: name, answer: Number(stored(name)) });
  const [status, found] = await ask("vote", { method: "POST", body, headers: { "Content-Type": "application/json" } });
  if (status === 429) throw new Error(found.refused);
  counted = name;
  said(status === 200 ? "The server has counted it." : found.refused);
}

part("enter").addEventListener("submit", (event) => {
  event.preventDefault();
  enter(part("code").value);
});
document.addEventListener("visibilitychange", later);
const given = new URLSearchParams(location.search).get("room");
if (given) enter(given);
else part("enter").hidden = false;
