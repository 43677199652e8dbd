// What this browser keeps for an account: drafts, the history of queries, a recorded script. Another account that is
// later shown at the same address has its own.

import { say } from './dom.js';

let account = '';
const full = new Set();
export const setAccount = identity => { account = identity; };

const nameOf = name => `cosmonaut ${account} ${name}`;
export function kept(name, otherwise = null) {
  try { return JSON.parse(localStorage.getItem(nameOf(name))) ?? otherwise; } catch { return otherwise; }
}
// Whether the browser had room for it.
export function keep(name, value) {
  try { localStorage.setItem(nameOf(name), JSON.stringify(value)); return true; } catch { return false; }
}
export const forget = name => localStorage.removeItem(nameOf(name));

// What is typed and not yet saved. Where the browser has no room for it, that is said once.
export function keepDraft(name, value) {
  if (keep(name, value)) { full.delete(name); return; }
  if (!full.has(name)) say('The browser has no room for this draft: save before you leave.', 'bad');
  full.add(name);
}
