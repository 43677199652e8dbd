// What this browser keeps for an account: drafts, the history of queries, a recorded script. Another account that is
// later shown at the same address has its own.

let account = '';
export const setAccount = identity => { account = identity; };

const full = name => `cosmonaut ${account} ${name}`;
export function kept(name, otherwise = null) {
  try { return JSON.parse(localStorage.getItem(full(name))) ?? otherwise; } catch { return otherwise; }
}
// Whether the browser had room for it.
export function keep(name, value) {
  try { localStorage.setItem(full(name), JSON.stringify(value)); return true; } catch { return false; }
}
export const forget = name => localStorage.removeItem(full(name));
