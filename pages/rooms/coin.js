// The coin of randomised response: of 2^32 equally likely draws `keep` send the answer that was tapped, 0 or 1, and the
// others send the other one. Whole numbers only, so that the odds are exactly these.
const DRAWS = 2 ** 32;

export function isFair(keep) {
  return Number.isInteger(keep) && DRAWS / 2 <= keep && keep < DRAWS;
}

export function randomised(answer, keep) {
  const [draw] = crypto.getRandomValues(new Uint32Array(1));
  return draw < keep ? answer : 1 - answer;
}

// By how much one message can shift the odds between the two answers: e to this power.
export function epsilonOf(keep) {
  return Math.log(keep / (DRAWS - keep));
}

export function percentKept(keep) {
  return (100 * keep) / DRAWS;
}
