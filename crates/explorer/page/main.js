// Which page an address shows, and the bar above all of them.

import { h, fill, update, button, link, dialog, problem, say } from './lib/dom.js';
import { takeKey, get, onReach, nameOf } from './lib/api.js';
import { setAccount } from './lib/kept.js';
import { manage } from './lib/script.js';
import { setRegions } from './lib/words.js';

const PAGES = [
  [/^\/$/, () => import('./pages/overview.js'), []],
  [/^\/data$/, () => import('./pages/data.js'), []],
  [/^\/data\/([^/]+)\/([^/]+)$/, () => import('./pages/items.js'), ['database', 'container']],
  [/^\/data\/([^/]+)\/([^/]+)\/item$/, () => import('./pages/item.js'), ['database', 'container']],
  [/^\/data\/([^/]+)\/([^/]+)\/settings$/, () => import('./pages/settings.js'), ['database', 'container']],
  [/^\/data\/([^/]+)\/([^/]+)\/scripts$/, () => import('./pages/scripts.js'), ['database', 'container']],
  [/^\/data\/([^/]+)\/([^/]+)\/changes$/, () => import('./pages/changes.js'), ['database', 'container']],
  [/^\/data\/([^/]+)\/([^/]+)\/conflicts$/, () => import('./pages/conflicts.js'), ['database', 'container']],
  [/^\/users\/([^/]+)$/, () => import('./pages/users.js'), ['database']],
  [/^\/query$/, () => import('./pages/query.js'), []],
  [/^\/query\/([^/]+)\/([^/]+)$/, () => import('./pages/query.js'), ['database', 'container']],
  [/^\/regions$/, () => import('./pages/regions.js'), []],
  [/^\/requests$/, () => import('./pages/requests.js'), []],
  [/^\/requests\/(\d+)$/, () => import('./pages/requests.js'), ['number']],
  [/^\/orchestrations$/, () => import('./pages/orchestrations.js'), []],
  [/^\/orchestrations\/([^/]+)$/, () => import('./pages/instance.js'), ['instance']],
];

const NAV = [
  ['/', 'Overview', 'o', () => true],
  ['/data', 'Data', 'd', () => true],
  ['/query', 'Query', 'q', () => true],
  ['/regions', 'Regions', 'r', account => account.isEmulator],
  ['/requests', 'Requests', 'l', account => account.hasRequests],
  ['/orchestrations', 'Orchestrations', 't', () => true],
];

const main = document.getElementById('main');
const bar = document.getElementById('bar');
let account = null;
let shown = null;
// Whether the page of this address could not be shown.
let isLost = false;

function theme(next) {
  if (next) localStorage.setItem('cosmonaut-theme', next);
  const chosen = localStorage.getItem('cosmonaut-theme') ?? 'system';
  document.documentElement.dataset.theme = chosen;
  return chosen;
}

function drawBar() {
  const here = location.pathname;
  const isAt = path => (path === '/' ? here === '/' : here === path || here.startsWith(`${path}/`) || (path === '/data' && here.startsWith('/users/')));
  update(bar,
    h('a', { class: 'brand', href: '/', 'aria-label': 'Cosmonaut: overview' }, h('span', { class: 'orbit', 'aria-hidden': 'true' }), h('span', {}, 'Cosmonaut')),
    h('nav', { 'aria-label': 'Pages' }, account ? NAV.filter(([, , , has]) => has(account)).map(([path, label]) =>
      link(label, path, { 'aria-current': isAt(path) ? 'page' : null })) : null),
    h('div', { class: 'row state' },
      account ? h('span', { class: `chip ${account.isEmulator ? 'good' : ''}`, title: account.endpoint }, account.isEmulator ? 'emulator' : 'account') : null,
      account?.readOnly ? h('span', { class: 'chip warn', title: account.readOnly }, 'read only') : null,
      h('span', { id: 'faults' }, faultChips()),
      button(themeName(), () => { const next = { system: 'light', light: 'dark', dark: 'system' }[theme()]; theme(next); drawBar(); }, { class: 'plain', 'data-key': 'colours', 'aria-label': `Colours: ${theme()}`, title: `Colours: ${theme()}` }),
      button('?', keys, { class: 'plain', 'aria-label': 'Keys', title: 'Keys (?)' })));
  bar.querySelector('[aria-current]')?.scrollIntoView({ inline: 'center', block: 'nearest' });
}
const themeName = () => ({ system: '◐', light: '☀', dark: '☾' }[theme()]);

let faults = null;
function drawFaults() { const place = document.getElementById('faults'); if (place) update(place, faultChips()); }
function faultChips() {
  const number = faults ? faults.faults.length + faults.links.filter(one => one.paused).length : 0;
  return number ? [h('a', { class: 'chip bad', href: '/regions' }, `${number} ${number === 1 ? 'fault' : 'faults'}`),
    account.readOnly ? null : button('Mend all', mend, { class: 'small' })] : null;
}
async function mend() {
  try {
    faults = await manage('DELETE', 'faults', undefined, 'Every fault is lifted.');
    drawFaults();
    window.dispatchEvent(new Event('faults'));
  } catch (error) { say(error.message, 'bad'); }
}
export function setFaults(found) { faults = found; drawFaults(); }

function keys() {
  dialog('Keys', finish => [
    h('dl', { class: 'keys' }, [
      ...NAV.filter(([, , , has]) => account && has(account)).map(([, label, key]) => [`g ${key}`, label]),
      ['/', 'Find: the first field of the page'], ['↑ ↓ j k', 'Move in a list'], ['Enter', 'Open'], ['Space', 'Select'],
      ['Ctrl Enter', 'Run the query'], ['Ctrl Shift Enter', 'Plan the query'], ['Ctrl S', 'Save the item'], ['n', 'New'], ['p', 'Pause what is live'],
      ['Esc', 'Cancel, close'], ['?', 'These keys'],
    ].map(([key, what]) => [h('dt', {}, key.split(' ').map(one => h('kbd', {}, one))), h('dd', {}, what)])),
    h('div', { class: 'row end' }, button('Close', () => finish(), { class: 'main' })),
  ]);
}

let first = '';
document.addEventListener('keydown', event => {
  const isWriting = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
  if (isWriting || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]')) return;
  const before = first;
  first = event.key === 'g' ? 'g' : '';
  if (before === 'g') {
    const found = NAV.find(([, , key, has]) => key === event.key && account && has(account));
    if (found) { event.preventDefault(); go(found[0]); }
  } else if (event.key === '?') { event.preventDefault(); keys(); }
  else if (event.key === '/') { const field = main.querySelector('input:not([type=checkbox]), textarea, select'); if (field) { event.preventDefault(); field.focus(); } }
});

// A filter replaces the entry of the history, a navigation adds one.
export function go(address, { replace = false } = {}) {
  history[replace ? 'replaceState' : 'pushState']({}, '', address);
  return open();
}

document.addEventListener('click', event => {
  const anchor = event.target.closest?.('a[href]');
  if (!anchor || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || anchor.hasAttribute('download')) return;
  const address = new URL(anchor.href);
  if (address.origin !== location.origin) return;
  event.preventDefault();
  // A place on this page: another address would show the page anew.
  const place = anchor.getAttribute('href');
  if (place.startsWith('#')) { document.getElementById(place.slice(1))?.focus(); return; }
  go(address.pathname + address.search);
});
window.addEventListener('popstate', () => open());

async function open() {
  shown?.abort();
  const control = new AbortController();
  shown = control;
  isLost = false;
  drawBar();
  const found = PAGES.map(([pattern, load, names]) => [pattern.exec(location.pathname), load, names]).find(([match]) => match);
  if (!found) { document.title = 'Cosmonaut'; fill(main, h('h1', {}, 'There is no such page'), h('p', {}, link('Overview', '/'))); return; }
  const [match, load, names] = found;
  const params = Object.fromEntries(names.map((name, n) => [name, nameOf(match[n + 1])]));
  const search = new URLSearchParams(location.search);
  main.className = '';
  try {
    account ??= await get('account');
    setRegions(account.regions);
    setAccount(account.identity);
    drawBar();
    const page = await load();
    if (control.signal.aborted) return;
    await page.default({
      root: main, account, params, search, go, signal: control.signal, title: text => { document.title = `${text} · Cosmonaut`; },
      // Keeps this state in the address, for a link and for Back.
      keep(members) {
        for (const [name, value] of Object.entries(members)) { if (value === null || value === undefined || value === '' || value === false) search.delete(name); else search.set(name, value); }
        const text = search.toString();
        history.replaceState(history.state, '', location.pathname + (text ? `?${text}` : ''));
      },
      every: (time, work) => every(time, work, control.signal),
    });
  } catch (error) {
    if (error.name === 'AbortError' || control.signal.aborted) return;
    isLost = true;
    if (error.kind === 'session') { lost(error); return; }
    fill(main, h('h1', {}, 'This cannot be shown'), problem(error, () => open()));
  }
}

function lost(error) {
  isLost = true;
  document.title = 'Cosmonaut';
  fill(main, h('div', { class: 'card narrow' }, h('h1', {}, 'This window has no key'), h('p', {}, error.message),
    h('p', {}, 'The address ends in ', h('code', {}, '#k=…'), ' and holds until the explorer is started anew. Open it once: this page and all its links work then.'),
    button('Try again', () => open())));
}

// Again and again while the page is shown; waits for an answer before it asks again.
function every(time, work, signal) {
  let timer = 0;
  const turn = async () => {
    if (signal.aborted) return;
    if (!document.hidden) {
      try { await work(); } catch (error) { if (error.kind === 'session') { lost(error); return; } if (error.name !== 'AbortError' && error.status) say(error.message, 'bad'); }
    }
    if (!signal.aborted) timer = setTimeout(turn, time);
  };
  signal.addEventListener('abort', () => clearTimeout(timer));
  return turn();
}

onReach(is => {
  document.body.classList.toggle('away', !is);
  if (is) back(); else say('The explorer does not answer. What is shown is what was last known.', 'bad');
});
// What is shown stays, with all that was typed and chosen in it, unless it is of another account.
async function back() {
  say('The explorer answers again.', 'good');
  let found;
  try { found = await get('account'); } catch (error) { if (error.kind === 'session') lost(error); return; }
  if (!isLost && account?.identity === found.identity) return;
  account = null;
  open();
}

theme();
takeKey();
// Only the printed link has a fragment that counts.
window.addEventListener('hashchange', () => { if (takeKey()) { account = null; open(); } });
open();
setInterval(async () => {
  if (!account?.isEmulator || document.hidden) return;
  try { setFaults(await get('manage/faults')); } catch { /* the page that needs it says so */ }
}, 4000);
