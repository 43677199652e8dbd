// The orchestrations of a container: which there are, what waits, and what has stopped for good.

import { h, fill, update, link, button, field, dialog, confirmed, problem, empty, say, tabs, oneLine } from '../lib/dom.js';
import { get, post, query, segment } from '../lib/api.js';
import { moment, clock, span, count, group } from '../lib/words.js';
import { plot } from '../lib/plot.js';
import { grid } from '../lib/grid.js';
import { kept, keep as keepHere } from '../lib/kept.js';

export const statusKind = status => ({ Completed: 'good', Failed: 'bad', Running: '', ContinuedAsNew: '' })[status] ?? '';
const GLYPH = { Completed: '✔', Failed: '✖', Running: '▶', ContinuedAsNew: '↻' };
export const statusLabel = status => h('span', { class: statusKind(status) }, `${GLYPH[status] ?? '·'} ${status}`);
const PLACE = 'durable place';

// Database, container and hub: of the address, or those of the last time.
export function placeOf(search) {
  if (search.get('database')) return { database: search.get('database'), container: search.get('container') ?? '', hub: search.get('hub') ?? '' };
  return kept(PLACE, { database: 'duroxide', container: 'duroxide', hub: '' });
}

export default async function orchestrations({ root, account, search, keep, title, go, signal, every }) {
  title('Orchestrations');
  const writes = !account.readOnly;
  const place = placeOf(search);
  keepHere(PLACE, place);
  const { places } = await get('durable/places', signal);
  const state = { rows: [], next: null, over: false, busy: false, turn: 0, pages: 0, view: search.get('view') ?? 'list' };
  const at = members => query({ ...place, ...members });
  const move = next => go(`/orchestrations${query({ ...place, ...next })}`);
  const names = places.map(one => `${one.database}/${one.container}`);
  const here = `${place.database}/${place.container}`;
  const where = h('select', { 'aria-label': 'Container', onchange: event => { const one = places[event.target.selectedIndex - (names.includes(here) ? 0 : 1)]; if (one) move({ database: one.database, container: one.container }); } },
    names.includes(here) ? null : h('option', { selected: true }, `${here} (not there)`), places.map(one => h('option', { selected: `${one.database}/${one.container}` === here }, `${one.database}/${one.container}`)));
  const hub = h('input', { value: place.hub, placeholder: 'hub', 'aria-label': 'Task hub', onchange: () => move({ hub: hub.value.trim() }) });
  const filter = (name, element) => { element.value = search.get(name) ?? ''; element.addEventListener('change', () => { keep({ [name]: element.value }); again(); }); return element; };
  const status = filter('status', h('select', { 'aria-label': 'Status' }, h('option', { value: '' }, 'every status'), Object.keys(GLYPH).map(name => h('option', { value: name }, name))));
  const name = filter('name', h('input', { type: 'search', placeholder: 'orchestration', 'aria-label': 'Orchestration' }));
  const custom = filter('custom', h('input', { type: 'search', placeholder: 'custom status has…', 'aria-label': 'Part of the custom status' }));
  const instance = filter('id', h('input', { type: 'search', placeholder: 'instance id', 'aria-label': 'Instance id' }));
  const since = filter('since', h('select', { 'aria-label': 'Since' }, [['', 'of all times'], ['3600', 'of the last hour'], ['86400', 'of the last day'], ['604800', 'of the last week']].map(([value, label]) => h('option', { value }, label))));
  const [tiles, trouble, bar, body] = [h('div', { class: 'tiles' }), h('div'), h('div', { class: 'row' }), h('div')];
  const facts = h('p', { class: 'status-line', role: 'status' });
  const table = grid({
    label: 'Orchestrations, the newest first', selectable: writes, keyOf: row => row.instance, onSelect: drawChosen,
    onOpen: row => go(`/orchestrations/${segment(row.instance)}${at({})}`), onNearEnd: () => { if (state.next && !state.busy) load(); },
    columns: [
      { name: 'instance', label: 'Instance', width: 'minmax(11rem, 1.4fr)', cell: row => oneLine(row.instance) },
      { name: 'orchestration', label: 'Orchestration', width: 'minmax(9rem, 1fr)', cell: row => oneLine([row.orchestration, row.version].filter(Boolean).join(' ')) },
      { name: 'status', label: 'Status', width: '9rem', cell: row => statusLabel(row.status) },
      { name: 'custom', label: 'Custom status', width: 'minmax(8rem, 1fr)', cell: row => oneLine(row.customStatus ?? '') },
      { name: 'events', label: 'Events', width: '4.5rem', end: true, cell: row => group(row.events) },
      { name: 'created', label: 'Began', width: '11.5rem', cell: row => moment(row.createdAt) },
      { name: 'took', label: 'Took', width: '6.5rem', end: true, cell: row => (row.completedAt ? span(row.completedAt - row.createdAt) : '–') },
      { name: 'parent', label: 'Started by', width: 'minmax(7rem, .8fr)', cell: row => oneLine(row.parent ?? '') },
    ],
  });
  fill(root, h('div', { class: 'head' }, h('h1', {}, 'Orchestrations'), h('div', { class: 'row' }, where, hub, writes ? button('Prune', prune) : null)), tiles,
    h('div', { class: 'row' }, tabs(state.view, [['list', 'Instances'], ['dead', 'Stopped for good'], ['time', 'Over time']], view => { state.view = view; keep({ view: view === 'list' ? '' : view }); go(location.pathname + location.search, { replace: true }); })), trouble, body);
  if (!names.includes(here)) { fill(body, empty(`There is no container ${here}. Choose the one that has orchestrations${places.length ? '' : '; the account has none yet'}.`)); return; }
  if (state.view === 'dead') { await dead(); return; }
  if (state.view === 'time') { await every(2000, overTime); return; }
  fill(body, h('div', { class: 'filters' }, instance, status, name, custom, since), bar, table.element, facts);

  // The pages of one list are all of one question: its time stays what it was for the first of them.
  const sinceNow = () => (since.value ? Date.now() - Number(since.value) * 1000 : '');
  const search_ = (next, from) => at({ id: instance.value.trim(), status: status.value, name: name.value.trim(), custom: custom.value.trim(), since: from, next, max: 100 });
  async function load() {
    const turn = state.turn;
    state.busy = true;
    if (!state.next) state.since = sinceNow();
    try {
      const found = await get(`durable/list${search_(state.next, state.since)}`, signal);
      if (turn !== state.turn) return;
      fill(trouble);
      state.rows.push(...found.instances);
      Object.assign(state, { next: found.next, over: !found.next, pages: state.pages + 1 });
      table.set(state.rows);
      drawFacts();
    } catch (error) { if (error.name !== 'AbortError' && turn === state.turn) { state.next = null; fill(trouble, problem(error, again)); } } finally { if (turn === state.turn) { state.busy = false; if (!trouble.hasChildNodes()) table.more(); } }
  }
  function drawFacts() { fill(facts, state.over ? `all ${count(state.rows.length, 'instance')}` : `${state.rows.length} shown, more follow`); }
  function again() { Object.assign(state, { rows: [], next: null, over: false, pages: 0, turn: state.turn + 1, busy: false }); table.clear(); table.set([]); return load(); }
  // While only the first page is shown and nobody is in it, it stays up to date.
  async function live() {
    try {
      const counts = await get(`durable/metrics${at({})}`, signal);
      drawTiles(counts);
      if (state.busy || state.pages !== 1 || table.chosen.size || !table.atTop()) return;
      const [turn, from] = [state.turn, sinceNow()];
      const found = await get(`durable/list${search_(null, from)}`, signal);
      if (turn !== state.turn || state.busy || state.pages !== 1) return;
      Object.assign(state, { rows: found.instances, next: found.next, over: !found.next, since: from });
      table.set(state.rows);
      drawFacts();
    } catch (error) { if (error.name !== 'AbortError') fill(trouble, problem(error)); }
  }
  async function overTime() {
    try {
      const counts = await get(`durable/metrics${at({})}`, signal);
      fill(trouble);
      drawTiles(counts);
      update(body, timePlots(counts.overTime));
    } catch (error) { if (error.name !== 'AbortError') fill(trouble, problem(error)); }
  }
  function drawTiles(counts) {
    const tile = (label, value, kind = '') => h('div', { class: 'tile' }, h('b', { class: kind }, value), h('span', {}, label));
    const age = time => (time ? `, the oldest for ${span(time)}` : '');
    update(tiles, tile('running', group(counts.running)), tile('completed', group(counts.completed)), tile('failed', group(counts.failed), counts.failed ? 'bad' : ''), tile(`messages waiting${age(counts.messageAgeMs)}`, group(counts.messages)), tile(`activities waiting${age(counts.activityAgeMs)}`, group(counts.activities)), tile('timers', group(counts.timers)));
  }
  function drawChosen() {
    const number = table.chosen.size;
    fill(bar, number ? [h('span', {}, `${count(number, 'instance')} selected`), button('Cancel them', cancel, { class: 'small' }), button('Terminate', terminateThem, { class: 'small danger' }), button('Delete', remove, { class: 'small danger' }), button('Clear', () => table.clear(), { class: 'small' })] : null);
  }
  async function many(path, body, done) {
    try {
      const result = await post(`durable/${path}${at({})}`, body);
      say(`${done} ${result.done}${result.failed.length ? `, not ${result.failed.length}` : ''}.`, result.failed.length ? 'bad' : 'good');
      await again();
      if (result.failed.length) fill(trouble, result.failed.slice(0, 20).map(one => problem({ message: `${one.id}: ${one.message}` })));
    } catch (error) { fill(trouble, problem(error)); }
  }
  async function cancel() {
    const instances = [...table.chosen];
    const reason = h('input', { value: 'cancelled by hand' });
    if (await dialog(`Cancel ${count(instances.length, 'instance')}`, finish => [h('p', {}, `${instances.slice(0, 5).join(', ')}${instances.length > 5 ? `, and ${instances.length - 5} more` : ''}`), field('Reason', reason), h('div', { class: 'row end' }, button('Back', () => finish()), button(`Cancel ${instances.length}`, () => finish(true), { class: 'danger' }))])) await many('cancel', { instances, reason: reason.value }, 'Asked to end:');
  }
  async function remove() {
    const instances = [...table.chosen];
    if (await confirmed(`Delete ${count(instances.length, 'instance')}`, `${instances.slice(0, 5).join(', ')}${instances.length > 5 ? `, and ${instances.length - 5} more` : ''}, with all that they have started, for good. Those that run are kept.`, `Delete ${instances.length}`)) await many('delete', { instances }, 'Deleted:');
  }
  async function terminateThem() {
    const instances = [...table.chosen];
    if (await confirmed(`Terminate ${count(instances.length, 'instance')}`, `${instances.slice(0, 5).join(', ')}${instances.length > 5 ? `, and ${instances.length - 5} more` : ''} are deleted with all that they have started, for good, even those that run: what they were about to do is not done.`, `Terminate ${instances.length}`)) await many('delete', { instances, force: true }, 'Terminated:');
  }
  async function prune() {
    const last = h('input', { type: 'number', min: 1, value: 1 });
    if (!await dialog('Prune', finish => [h('p', {}, 'Removes past executions of up to 1000 instances, for good. The current one always stays.'), field('Keep the last', last), h('div', { class: 'row end' }, button('Cancel', () => finish()), button('Prune', () => finish(true), { class: 'danger' }))])) return;
    try { const gone = await post(`durable/prune${at({})}`, { keepLast: Number(last.value) || 1 }); say(`Removed ${count(gone.executions, 'execution')}, ${count(gone.events, 'event')}.`, 'good'); } catch (error) { say(error.message, 'bad'); }
  }
  async function dead() {
    const show = async () => {
      const found = await get(`durable/dead${at({})}`, signal);
      fill(body, found.dead.length ? h('div', { class: 'card wide' }, h('table', {}, h('thead', {}, h('tr', {}, ['Instance', 'Cause', 'Since', 'Why', ''].map(label => h('th', { scope: 'col' }, label)))), h('tbody', {}, found.dead.map(one => h('tr', {}, h('td', { class: 'break' }, link(oneLine(one.instance), `/orchestrations/${segment(one.instance)}${at({})}`)), h('td', {}, one.cause), h('td', {}, moment(one.since)), h('td', { class: 'break' }, oneLine(one.why)),
        writes ? h('td', {}, h('div', { class: 'row' }, button('Retry', () => retry(one), { class: 'small' }), button('Terminate', () => terminate(one), { class: 'small danger' }))) : null)))), found.complete ? null : h('p', { class: 'muted' }, 'There are more.')) : empty('Nothing has stopped for good.'));
    };
    // Whoever has gone on to another page is told nothing.
    const refused = error => { if (error.name !== 'AbortError') say(error.message, 'bad'); };
    const retry = async one => {
      const as = h('input', { value: `${one.instance}-retry-1` });
      if (!await dialog(`Retry ${one.instance}`, finish => [field('As a new instance', as), h('div', { class: 'row end' }, button('Cancel', () => finish()), button('Retry', () => finish(true), { class: 'main' }))])) return;
      try { await post(`durable/retry${at({})}`, { instance: one.instance, name: as.value }); say(`It is tried again as ${as.value}.`, 'good'); await show(); } catch (error) { refused(error); }
    };
    const terminate = async one => {
      if (!await confirmed(`Terminate ${one.instance}`, 'The instance is deleted with all that it has started, or what waits and cannot be read is dropped, for good.', 'Terminate')) return;
      try { await post(`durable/terminate${at({})}`, { instance: one.instance }); say('It is gone.', 'good'); await show(); } catch (error) { refused(error); }
    };
    try { await show(); } catch (error) { if (error.name !== 'AbortError') fill(body, problem(error, show)); }
  }
  await load();
  await every(2000, live);
}

// What was seen of the last minutes. Where nobody looked there are gaps.
function timePlots(found) {
  const ends = [clock(found.start).slice(0, 8), 'now'];
  const last = values => values.findLast(value => value !== null) ?? 0;
  const most = values => Math.max(0, ...values);
  const whole = value => group(value < 10 ? Number(value.toFixed(1)) : Math.round(value));
  const rate = value => `${Number(value < 1 ? value.toFixed(2) : value.toPrecision(2))} /s`;
  const plotOf = (title, unit, sentence, ...series) => plot({ title, unit, sentence, ends, series: series.map(([name, values], number) => ({ name, values, number })) });
  return [
    h('p', { class: 'muted' }, 'Seen while this page was open somewhere, of the last ten minutes.'),
    h('div', { class: 'two' },
      plotOf('Waiting', whole, `${last(found.messages)} messages and ${last(found.activities)} activities wait now, at most ${most(found.messages)} and ${most(found.activities)}.`, ['messages', found.messages], ['activities', found.activities]),
      plotOf('Age of the oldest that waits', span, `${span(last(found.oldestMs))} now, at most ${span(most(found.oldestMs))}.`, ['age', found.oldestMs]),
      plotOf('Throughput', rate, `${rate(last(found.startedPerSecond))} started and ${rate(last(found.endedPerSecond))} ended at last.`, ['started', found.startedPerSecond], ['ended', found.endedPerSecond]),
      plotOf('Running', whole, `${last(found.running)} instances run now.`, ['instances', found.running])),
  ];
}
