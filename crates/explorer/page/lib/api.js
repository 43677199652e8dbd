// Asks the explorer. The secret of the address is kept for this origin and sent in a header, never in a cookie.

const KEPT = 'cosmonaut-key';

// Whether the address had the secret.
export function takeKey() {
  const found = /^#k=([0-9a-f]+)$/.exec(location.hash);
  if (!found) return false;
  localStorage.setItem(KEPT, found[1]);
  history.replaceState(history.state, '', location.pathname + location.search);
  return true;
}

export class Problem extends Error {
  constructor(status, error) {
    super(error.message);
    Object.assign(this, { status, details: error, kind: error.kind });
  }
}

let away = false;
const listeners = new Set();
export const onReach = heard => listeners.add(heard);
const reached = is => { if (away === is) { away = !is; listeners.forEach(heard => heard(is)); } };

export async function ask(method, path, body, signal) {
  const headers = { 'x-cosmonaut-key': localStorage.getItem(KEPT) ?? '' };
  if (body !== undefined) headers['content-type'] = 'application/json';
  let answer;
  try {
    answer = await fetch(`/api/${path}`, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal, cache: 'no-store' });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    reached(false);
    throw new Problem(0, { kind: 'gone', message: `The explorer does not answer. Is the process that printed its address still running?${method === 'GET' || /^(query|check)/.test(path) ? '' : ' Whether this change was made is not known.'}` });
  }
  reached(true);
  const text = await answer.text();
  let read = null;
  // These are the explorer's own words. Items in them are texts, and stay so.
  try { read = text ? JSON.parse(text) : null; } catch { /* not JSON */ }
  if (answer.ok) return read;
  const error = read?.error ?? { kind: 'management', message: read?.message ?? `The explorer answered ${answer.status}.` };
  throw new Problem(answer.status, error);
}

export const get = (path, signal) => ask('GET', path, undefined, signal);
export const post = (path, body, signal) => ask('POST', path, body, signal);
export const put = (path, body) => ask('PUT', path, body);
export const remove = (path, body) => ask('DELETE', path, body);

// A name as a part of an address. Browsers take `.` and `..` for steps within an address, written as %2e too, so such a
// name gets a mark before it, and so does one that begins with the mark.
export const segment = name => (/^(~|\.\.?$)/.test(name) ? `~${encodeURIComponent(name)}` : encodeURIComponent(name));
export const nameOf = text => decodeURIComponent(text.startsWith('~') ? text.slice(1) : text);
export const at = (...names) => names.map(segment).join('/');
export function query(members) {
  const given = Object.entries(members).filter(([, value]) => value !== null && value !== undefined && value !== '' && value !== false);
  return given.length ? `?${given.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&')}` : '';
}
