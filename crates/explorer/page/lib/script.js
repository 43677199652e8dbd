// Changes of regions and faults, wherever they are made, and the script that is recorded of them. A reload ends no record.

import { ask } from './api.js';
import { say } from './dom.js';
import { kept, keep, forget } from './kept.js';

export const recording = () => kept('recording');
export const script = () => kept('script', []);
export const record = () => keep('recording', { began: Date.now(), lines: [] });
export function stop() {
  const { lines } = recording();
  keep('script', lines);
  forget('recording');
  return lines;
}

// Makes a change, and says that it is `done`.
export async function manage(method, path, body, done) {
  const answer = await ask(method, `manage/${path}`, body);
  const missing = recording() ? write(method, path, body, answer) : '';
  say(`${done}${missing}`, missing ? 'bad' : 'good');
  return answer;
}

// Writes a line of the script; says why if it cannot.
function write(method, path, body, answer) {
  const now = recording();
  const line = lineOf(now.lines, method, path, answer);
  if (!line) return ' It is not recorded: the fault was made before the recording.';
  now.lines.push({ at: Date.now() - now.began, method, path, body, ...line });
  const isKept = keep('recording', now);
  window.dispatchEvent(new Event('recorded'));
  return isKept ? '' : ' It is not recorded: the browser has no room left.';
}

// A fault has another id each time that it is made, so what lifts it names the line that has made it. Null if none has.
function lineOf(lines, method, path, answer) {
  if (method === 'POST' && path === 'faults') return { made: answer.id };
  const lifted = method === 'DELETE' ? /^faults\/(.+)$/.exec(path)?.[1] : undefined;
  if (lifted === undefined) return {};
  const lifts = lines.findLastIndex(one => String(one.made) === lifted);
  return lifts < 0 ? null : { lifts };
}

// The same lines again, one after another. Before each, `step` waits and says whether to go on; `change` makes it.
export async function replay(lines, step, change) {
  const made = new Map();
  for (const [n, one] of lines.entries()) {
    const path = one.lifts === undefined ? one.path : `faults/${made.get(one.lifts)}`;
    if (!await step(one, n, path)) return;
    // A fault that could not be made is not lifted either.
    if (one.lifts !== undefined && !made.has(one.lifts)) continue;
    const answer = await change(one.method, path, one.body);
    if (one.made !== undefined && answer) made.set(n, answer.id);
  }
}
