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

export async function manage(method, path, body) {
  const answer = await ask(method, `manage/${path}`, body);
  const now = recording();
  if (now) {
    now.lines.push({ at: Date.now() - now.began, method, path, body });
    if (!keep('recording', now)) say('The browser has no room left: this is not recorded.', 'bad');
    window.dispatchEvent(new Event('recorded'));
  }
  return answer;
}
