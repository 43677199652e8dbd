// A driver's diagnostics as somebody pastes them: an object, a list, one object a line, or any of these within an error
// or behind the words of a log.

const MOST = 200;
const STARTS = 20;
const isNumber = value => typeof value === 'number' && Number.isFinite(value) && value >= 0;

// What is found, or an error that says what is wrong.
export function readDiagnostics(text) {
  const found = gathered(parts(text)).slice(0, MOST);
  if (!found.length) throw new Error('No diagnostics are found in this: paste what `diagnostics.to_json()` gives, an object with "attempts".');
  found.forEach((one, n) => {
    if (!isNumber(one.elapsedMs)) throw new Error(`Operation ${n + 1} has no "elapsedMs", which says how long it took.`);
    one.attempts.forEach((attempt, m) => {
      for (const name of ['startedMs', 'latencyMs']) if (!isNumber(attempt?.[name])) throw new Error(`Attempt ${m + 1} of operation ${n + 1} has no time "${name}".`);
    });
  });
  return found;
}

function parts(text) {
  try { return [JSON.parse(text)]; } catch { /* lines, or within other words */ }
  const lines = text.split('\n').map(read);
  return gathered(lines).length ? lines : [read(text)];
}

// JSON behind other words, which may have brackets too.
function read(text) {
  const to = Math.max(text.lastIndexOf('}'), text.lastIndexOf(']'));
  for (const { index } of [...text.matchAll(/[{[]/g)].slice(0, STARTS)) {
    try { return JSON.parse(text.slice(index, to + 1)); } catch { /* not from here */ }
  }
  return null;
}

function gathered(values, depth = 0) {
  return values.flatMap(value => {
    if (value === null || typeof value !== 'object' || depth > 5) return [];
    if (Array.isArray(value.attempts)) return [value];
    return gathered(Object.values(value), depth + 1);
  });
}
