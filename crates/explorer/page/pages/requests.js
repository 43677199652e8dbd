// The requests that the emulator has answered, as they come.

import { h, fill, button, oneLine, problem } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { grid } from '../lib/grid.js';
import { clock, ms, badge, statusClass, statusText, count } from '../lib/words.js';
import { decoded, showRequest, showDiagnostics, struckText } from './request.js';

const MOST = 20000;
const CLASSES = { '2xx': [200, 299], '3xx': [300, 399], '4xx': [400, 499], '5xx': [500, 599], 429: [429, 429] };
const WRITES = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);

export default async function requests({ root, account, params, search, keep, title, signal, every }) {
  title('Requests');
  const state = { rows: [], shown: [], last: 0, waiting: [], lost: 0, paused: search.get('paused') === '1', first: true };
  const field = (name, element) => { element.value = search.get(name) ?? ''; element.addEventListener('input', () => { keep({ [name]: element.value }); refilter(); }); return element; };
  const region = field('region', h('select', { 'aria-label': 'Region' }, h('option', { value: '' }, 'every region'), account.regions.map(name => h('option', { value: name }, name))));
  const status = field('status', h('select', { 'aria-label': 'Status' }, h('option', { value: '' }, 'every status'), Object.keys(CLASSES).map(name => h('option', { value: name }, name)), h('option', { value: 'failed' }, 'failed')));
  const op = field('op', h('select', { 'aria-label': 'Operation' }, h('option', { value: '' }, 'reads and writes'), h('option', { value: 'read' }, 'GET'), h('option', { value: 'write' }, 'POST, PUT, PATCH, DELETE')));
  const path = field('path', h('input', { type: 'search', placeholder: 'path has…', 'aria-label': 'Part of the path' }));
  const client = field('client', h('input', { type: 'search', placeholder: 'client has…', 'aria-label': 'Part of the client\'s address' }));
  const fault = field('fault', h('input', { type: 'number', min: 1, placeholder: 'struck by fault', 'aria-label': 'Struck by the fault of this number' }));
  const min = field('min', h('input', { type: 'number', min: 0, placeholder: 'ms at least', 'aria-label': 'Milliseconds at least' }));
  const facts = h('p', { class: 'status-line', role: 'status' });
  const pause = button('', toggle, { title: 'Pause (p)' });
  const fresh = button('', () => { flush(); table.toTop(); }, { class: 'small', hidden: true });
  const trouble = h('div');
  const table = grid({
    label: 'Requests, the newest first', keyOf: row => row.n, onOpen: open,
    columns: [
      { name: 'at', label: 'Time', width: '7.5rem', cell: row => clock(row.at) },
      { name: 'region', label: 'Region', width: '3.5rem', cell: row => badge(row.region ?? '') },
      { name: 'status', label: 'Status', width: '5.5rem', cell: row => h('span', { class: statusClass(row.status) }, statusText(row.status, row.subStatus)) },
      { name: 'method', label: 'Method', width: '4.5rem', cell: row => row.method },
      { name: 'path', label: 'Path', width: 'minmax(14rem, 1fr)', cell: row => oneLine(row.path) },
      { name: 'charge', label: 'RU', width: '5rem', end: true, cell: row => row.charge.toFixed(2) },
      { name: 'struck', label: 'Struck by', width: '7rem', cell: row => struckText(row) },
      { name: 'ms', label: 'Time', width: '5.5rem', end: true, cell: row => ms(row.ms) },
      { name: 'client', label: 'Client', width: '9.5rem', cell: row => row.client ?? '–' },
    ],
  });
  fill(root, h('div', { class: 'head' }, h('h1', {}, 'Requests'), h('div', { class: 'row' }, fresh, pause, button('Diagnostics', () => showDiagnostics({ signal, openOther: open }), { title: 'Show what a driver says of an operation' }), button('Clear', () => { state.rows = []; state.lost = 0; refilter(); }))),
    h('div', { class: 'filters' }, region, status, op, path, client, min, fault), trouble, table.element, facts);
  document.addEventListener('keydown', event => { if (event.key === 'p' && !/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && !document.querySelector('dialog[open]')) toggle(); }, { signal });

  function fits(row) {
    if (region.value && row.region !== region.value) return false;
    if (status.value === 'failed' ? statusClass(row.status) !== 'bad' : status.value && !(row.status >= CLASSES[status.value][0] && row.status <= CLASSES[status.value][1])) return false;
    if (op.value && WRITES.has(row.method) !== (op.value === 'write')) return false;
    if (path.value && !decoded(row.path).includes(path.value)) return false;
    if (client.value && !(row.client ?? '').includes(client.value)) return false;
    if (fault.value && !row.struck.some(one => one.fault === Number(fault.value))) return false;
    return !min.value || row.ms >= Number(min.value);
  }
  function refilter() { state.shown = state.rows.filter(fits); table.set(state.shown); drawFacts(); }
  function drawFacts() {
    fill(pause, state.paused ? 'Go on' : 'Pause');
    fresh.hidden = !state.waiting.length;
    fill(fresh, `${state.waiting.length} new ↑`);
    fill(facts, `${count(state.shown.length, 'request')} shown of ${state.rows.length} kept${state.lost ? `, ${state.lost} were too many to keep` : ''}${state.paused ? ' · paused: nothing moves' : ' · live'}`);
  }
  function toggle() { state.paused = !state.paused; keep({ paused: state.paused ? '1' : '' }); if (!state.paused) flush(); drawFacts(); }
  // Rows never move under the pointer: away from the top, new ones wait.
  function flush() {
    const added = state.waiting.splice(0).reverse();
    state.rows = [...added, ...state.rows].slice(0, MOST);
    state.shown = [...added.filter(fits), ...state.shown].slice(0, MOST);
    table.set(state.shown);
    drawFacts();
  }
  // A request has an address of its own while it is shown.
  const at = path => history.replaceState(history.state, '', path + location.search);
  async function open(row) {
    const here = `/requests/${row.n}`;
    at(here);
    const only = (name, element) => value => { element.value = value; keep({ [name]: String(value) }); refilter(); };
    try { await showRequest(row.n, { row: row.path === undefined ? null : row, signal, openOther: open, ofClient: only('client', client), ofFault: only('fault', fault) }); } catch (error) { if (error.name !== 'AbortError') throw error; }
    if (!signal.aborted && location.pathname === here) at('/requests');
  }
  if (params.number) open({ n: Number(params.number) });
  await every(500, async () => {
    try {
      const found = await get(`requests?after=${state.last}`, signal);
      fill(trouble);
      // The emulator was started anew: its numbers begin again.
      if (found.last < state.last) { state.rows = []; state.waiting = []; }
      state.last = found.last;
      if (!state.first) state.lost += found.lost;
      state.first = false;
      state.waiting.push(...found.rows);
      if (state.waiting.length > MOST) state.waiting.splice(0, state.waiting.length - MOST);
      if (state.paused || !table.atTop()) drawFacts(); else if (found.rows.length || !state.drawn) { state.drawn = true; flush(); }
    } catch (error) { if (error.name !== 'AbortError') fill(trouble, problem(error)); }
  });
}
