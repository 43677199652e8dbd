// The change feed of a container, followed live: each item as it was last written, the newest on top.

import { h, fill, button, dialog, link, problem, oneLine, marked } from '../lib/dom.js';
import { get, at, query } from '../lib/api.js';
import { parse, member, memberText, isSystem, without, compact, tidy } from '../lib/json.js';
import { count, moment, ru, bytes } from '../lib/words.js';
import { grid } from '../lib/grid.js';
import { ofContainer } from '../lib/place.js';

const MOST = 20000;
// How many pages are read before they are drawn.
const TURN = 10;

// The change feed gives each item its place in the log.
const isAdded = name => isSystem(name) || name === '_lsn';

export default async function changes({ root, params, search, keep, title, signal, every }) {
  const { database, container } = params;
  title(`Changes of ${container}`);
  const state = { rows: [], waiting: [], next: null, charge: 0, seen: 0, paused: search.get('paused') === '1', turn: 0 };
  const start = h('select', { 'aria-label': 'From' }, [['now', 'from now on'], ['beginning', 'from the beginning']].map(([value, label]) => h('option', { value, selected: search.get('start') === value }, label)));
  const pk = h('input', { class: 'mono', placeholder: 'key: any', 'aria-label': 'Partition key, as JSON', value: search.get('pk') ?? '', spellcheck: 'false' });
  const pause = button('', toggle, { title: 'Pause (p)' });
  const fresh = button('', () => { flush(); table.toTop(); }, { class: 'small', hidden: true });
  const facts = h('p', { class: 'status-line', role: 'status' });
  const trouble = h('div');
  const table = grid({
    label: 'Changes, the newest first', keyOf: row => row.n, onOpen: open,
    columns: [
      { name: 'at', label: 'Written', width: '11.5rem', cell: row => (row.at ? moment(row.at) : '–') },
      { name: 'id', label: 'Id', width: 'minmax(8rem, 1fr)', cell: row => oneLine(row.id ?? row.unreadable ?? '') },
      { name: 'pk', label: 'Key', width: 'minmax(7rem, 1fr)', cell: row => oneLine(JSON.stringify(row.pk ?? null)) },
      { name: 'text', label: 'Item', width: 'minmax(14rem, 3fr)', cell: row => (row.node ? oneLine(compact(without(row.node, isAdded)).slice(0, 300)) : bytes(row.size ?? 0)) },
    ],
  });
  fill(root, ofContainer(database, container, 'changes', [fresh, pause]), h('div', { class: 'filters' }, start, pk), trouble, table.element, facts);
  for (const [name, element] of [['start', start], ['pk', pk]]) element.addEventListener('change', () => { keep({ [name]: element.value }); again(); });
  document.addEventListener('keydown', event => { if (event.key === 'p' && !/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && !document.querySelector('dialog[open]')) toggle(); }, { signal });

  function again() { Object.assign(state, { rows: [], waiting: [], next: null, seen: 0, charge: 0, turn: state.turn + 1 }); table.set([]); drawFacts(); }
  function toggle() { state.paused = !state.paused; keep({ paused: state.paused ? '1' : '' }); if (!state.paused) flush(); drawFacts(); }
  function drawFacts() {
    fill(pause, state.paused ? 'Go on' : 'Pause');
    fresh.hidden = !state.waiting.length;
    fill(fresh, `${state.waiting.length} new ↑`);
    fill(facts, `${count(state.seen, 'change')}${state.seen > MOST ? `, the last ${MOST} are kept` : ''} · ${ru(state.charge)}${state.paused ? ' · paused: nothing moves' : ' · live'}`);
  }
  function flush() {
    state.rows = [...state.waiting.splice(0).reverse(), ...state.rows].slice(0, MOST);
    table.set(state.rows);
    drawFacts();
  }
  function readRow(row) {
    state.seen += 1;
    const known = { ...row, n: state.seen, node: null };
    try { if (row.text !== null) known.node = parse(row.text); } catch (error) { known.unreadable = error.message; }
    const ts = member(known.node, '_ts')?.raw;
    return { ...known, at: ts ? Number(ts) * 1000 : null };
  }
  function open(row) {
    const id = row.id ?? memberText(row.node, 'id');
    dialog('Change', finish => h('div', { class: 'broad' }, h('pre', { class: 'item-text', tabindex: 0 }, marked(row.node ? tidy(row.text) : row.start ?? row.unreadable ?? '')),
      h('div', { class: 'row end' }, id ? link('The item as it is now', `/data/${at(database, container)}/item${query({ id, pk: JSON.stringify(row.pk) })}`) : null, button('Close', () => finish(), { class: 'main' }))));
  }
  await every(1000, async () => {
    try {
      for (let page = 0; page < TURN; page += 1) {
        const turn = state.turn;
        const found = await get(`changes/${at(database, container)}${query({ start: start.value, pk: pk.value.trim(), next: state.next, paths: state.paths && JSON.stringify(state.paths) })}`, signal);
        if (turn !== state.turn) return;
        fill(trouble);
        state.paths = found.paths;
        state.next = found.next ?? state.next;
        state.charge += found.charge ?? 0;
        state.waiting.push(...found.items.map(readRow));
        if (state.waiting.length > MOST) state.waiting.splice(0, state.waiting.length - MOST);
        if (!found.items.length) break;
      }
      // Rows never move under the pointer: away from the top, new ones wait.
      if (state.paused || !table.atTop()) drawFacts(); else flush();
    } catch (error) { if (error.name !== 'AbortError') fill(trouble, problem(error)); }
  });
}
