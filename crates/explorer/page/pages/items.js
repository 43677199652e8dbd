// The items of a container: by page, in columns, sorted as far as they are on the page.

import { h, fill, button, field, dialog, confirmed, problem, say, oneLine } from '../lib/dom.js';
import { get, post, at, query } from '../lib/api.js';
import { parse, member, shown, compare, isSystem } from '../lib/json.js';
import { ru, ms, count } from '../lib/words.js';
import { grid } from '../lib/grid.js';
import { collector, documents, columnsOf } from '../lib/transfer.js';
import { ofContainer } from '../lib/place.js';
import { newItem } from './item.js';

const PAGE = 100;
const PART = 200;

export default async function items({ root, account, params, search, keep, title, go, signal }) {
  const { database, container } = params;
  const where = `${database}/${container}`;
  title(where);
  const writes = !account.readOnly;
  const state = { rows: [], next: null, paths: null, charge: 0, busy: false, over: false, sort: search.get('sort') ? { name: search.get('sort'), down: search.get('down') === '1' } : null, columns: search.get('cols')?.split(',') ?? null, turn: 0 };
  const input = (name, placeholder, label) => h('input', { placeholder, 'aria-label': label, value: search.get(name) ?? '', spellcheck: 'false', class: 'mono', onchange: again, onkeydown: event => { if (event.key === 'Enter') again(); } });
  const pk = input('pk', 'key: "contoso"', 'Partition key, as JSON');
  const id = input('id', 'id', 'Item id');
  const filter = input('filter', 'filter: c.total > 10', 'Condition, as in a query');
  const facts = h('p', { class: 'status-line', role: 'status' });
  const trouble = h('div');
  const chosenBar = h('div', { class: 'row' });
  const table = grid({
    label: `Items of ${where}`, columns: [], selectable: true, keyOf: row => `${row.id}\u0000${JSON.stringify(row.pk)}`,
    onOpen: row => (row.unreadable && !row.id ? say(row.unreadable, 'bad') : go(`/data/${at(database, container)}/item${query({ id: row.id, pk: JSON.stringify(row.pk) })}`)),
    onSort: sortBy, sortedBy: () => state.sort, onNearEnd: () => { if (state.next && !state.busy && !trouble.hasChildNodes()) load(); }, onSelect: drawChosen,
  });
  fill(root, ofContainer(database, container, 'items', [button('Columns', chooseColumns), button('Export', exportRows), writes ? button('Import', importFile) : null,
    writes ? button('New item', create, { class: 'main', title: 'New item (n)' }) : null]),
    h('div', { class: 'filters' }, pk, id, filter, button('Show', again)), trouble, chosenBar, table.element, facts);
  document.addEventListener('keydown', event => {
    if (event.key === 'n' && !/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) && !event.ctrlKey && !event.metaKey && writes && !document.querySelector('dialog[open]')) { event.preventDefault(); create(); }
  }, { signal });

  function columnNames() {
    if (state.columns) return state.columns;
    const keys = (state.paths ?? []).map(path => path.split('/').filter(Boolean)).filter(path => path.length === 1).map(([name]) => name);
    const all = columnsOf(state.rows.slice(0, 300).map(row => row.node).filter(Boolean)).filter(name => !isSystem(name) && name !== 'id');
    return ['id', ...keys.filter(name => name !== 'id'), ...all.filter(name => !keys.includes(name))].slice(0, 12);
  }
  function drawColumns() {
    table.columns(columnNames().map(name => ({
      name, label: oneLine(name), cell: row => (row.node ? cellOf(member(row.node, name)) : name === 'id' ? oneLine(row.id ?? row.unreadable) : name === columnNames()[1] ? row.size ? `${count(row.size, 'byte')}: open it to see it` : row.unreadable : ''),
      width: name === 'id' ? 'minmax(8rem, 1.2fr)' : name === '_ts' ? '7rem' : 'minmax(7rem, 1fr)',
    })));
  }
  function drawFacts() {
    const loaded = state.rows.length;
    const end = state.over ? `all ${loaded} of them` : `${loaded} shown, more follow`;
    const sorted = state.sort ? `, sorted by ${state.sort.name} among those that are shown` : '';
    fill(facts, state.busy && !loaded ? 'Reading…' : `${loaded || state.over ? end : ''}${sorted} · ${ru(state.charge)}${state.regions?.length ? ` · ${state.regions.join(', ')}` : ''}${state.ms ? ` · ${ms(state.ms)}` : ''}`);
  }
  async function load() {
    const turn = state.turn;
    state.busy = true;
    fill(trouble);
    drawFacts();
    try {
      const found = await get(`items/${at(database, container)}${query({ ...question(state.next), max: PAGE })}`, signal);
      if (turn !== state.turn) return;
      const before = columnNames().join();
      const wasEmpty = !state.rows.length;
      state.paths = found.paths;
      state.rows.push(...found.items.map(readRow));
      Object.assign(state, { next: found.next ?? null, over: !found.next, charge: state.charge + (found.charge ?? 0), regions: found.regions, ms: found.ms });
      if (wasEmpty || columnNames().join() !== before) drawColumns();
      table.set(sorted());
    } catch (error) {
      if (error.name !== 'AbortError' && turn === state.turn) fill(trouble, problem(error, load));
    } finally {
      if (turn === state.turn) { state.busy = false; drawFacts(); table.more(); }
    }
  }
  function again() {
    keep({ pk: pk.value.trim(), id: id.value, filter: filter.value.trim() });
    Object.assign(state, { rows: [], next: null, over: false, charge: 0, turn: state.turn + 1, busy: false });
    table.clear();
    table.set([]);
    table.toTop();
    return load();
  }
  function sorted() {
    if (!state.sort) return state.rows;
    const { name, down } = state.sort;
    const value = row => row.node && member(row.node, name);
    return [...state.rows].sort((left, right) => (down ? -1 : 1) * compare(value(left), value(right)));
  }
  function sortBy(name) {
    state.sort = state.sort?.name !== name ? { name, down: false } : state.sort.down ? null : { name, down: true };
    keep({ sort: state.sort?.name, down: state.sort?.down ? '1' : '' });
    table.set(sorted());
    drawFacts();
  }
  function chosenRows() { return state.rows.filter(row => table.chosen.has(`${row.id}\u0000${JSON.stringify(row.pk)}`)); }
  function drawChosen() {
    const number = table.chosen.size;
    fill(chosenBar, number ? [h('span', {}, `${count(number, 'item')} selected`), button('Export', exportRows, { class: 'small' }), writes ? button('Delete', deleteChosen, { class: 'small danger' }) : null, button('Clear', () => table.clear(), { class: 'small' })] : null);
  }
  async function deleteChosen() {
    const rows = chosenRows();
    if (!await confirmed(`Delete ${count(rows.length, 'item')}`, `${rows.slice(0, 5).map(row => row.id).join(', ')}${rows.length > 5 ? `, and ${rows.length - 5} more` : ''}. Items that somebody has changed since are kept.`, `Delete ${rows.length}`)) return;
    let [deleted, failed] = [0, []];
    try {
      for (let from = 0; from < rows.length; from += PART) {
        const result = await post(`items/${at(database, container)}/delete`, { items: rows.slice(from, from + PART).map(row => ({ id: row.id, pk: row.pk, etag: row.etag })) });
        deleted += result.deleted;
        failed = failed.concat(result.failed);
      }
      say(`${count(deleted, 'item')} deleted${failed.length ? `, ${failed.length} not` : ''}.`, failed.length ? 'bad' : 'good');
    } catch (error) { say(`${count(deleted, 'item')} deleted, then: ${error.message}`, 'bad'); }
    await again();
    if (failed.length) fill(trouble, failed.slice(0, 20).map(one => problem({ message: `${one.id}: ${one.message}` })));
  }
  async function chooseColumns() {
    const all = [...new Set([...columnNames(), ...columnsOf(state.rows.map(row => row.node).filter(Boolean))])];
    const boxes = all.map(name => h('input', { type: 'checkbox', value: name, checked: columnNames().includes(name) }));
    const result = await dialog('Columns', finish => [
      h('div', {}, all.map((name, n) => h('label', { class: 'row' }, boxes[n], h('span', { class: 'mono' }, oneLine(name))))),
      h('div', { class: 'row end' }, button('As found', () => finish('auto')), button('Cancel', () => finish()), button('Use', () => finish(boxes.filter(box => box.checked).map(box => box.value)), { class: 'main' }))]);
    if (!result) return;
    state.columns = result === 'auto' ? null : result.length ? result : ['id'];
    keep({ cols: state.columns?.join(',') });
    drawColumns();
  }
  async function exportRows() {
    const some = table.chosen.size ? chosenRows() : state.rows;
    const text = table.chosen.size ? `The ${count(some.length, 'item')} that are selected.` : state.over ? `All ${count(some.length, 'item')}.` : `${count(some.length, 'item')} are loaded, more follow.`;
    const all = h('input', { type: 'checkbox', checked: true });
    const canAll = !table.chosen.size && !state.over;
    const kind = await dialog('Export', finish => [h('p', {}, text), canAll ? h('label', { class: 'row' }, all, 'read all that follow too') : null, h('div', { class: 'row end' }, button('Cancel', () => finish()), button('CSV', () => finish('csv')), button('JSON lines', () => finish('jsonl'), { class: 'main' }))]);
    if (!kind) return;
    try {
      const file = collector(kind);
      await (canAll && all.checked ? everything(file) : whole(some, file));
      await file.save(container);
      say(`${count(file.count(), 'item')} exported.`, 'good');
    } catch (error) { if (error.name !== 'AbortError') fill(trouble, problem(error)); else say('The export is cancelled.'); }
  }
  const question = next => ({ pk: pk.value.trim(), id: id.value, filter: filter.value.trim(), next, paths: state.paths && JSON.stringify(state.paths) });
  // All items from the first page on, each at its full length. Leaving the page or Cancel ends it.
  async function everything(file) {
    const stop = new AbortController();
    signal.addEventListener('abort', () => stop.abort());
    const asked = question(null);
    let charge = 0;
    try {
      do {
        const found = await get(`items/${at(database, container)}${query({ ...asked, max: 1000, whole: 1 })}`, stop.signal);
        await file.add(found.items.map(readable));
        charge += found.charge ?? 0;
        asked.next = found.next;
        fill(chosenBar, h('span', { role: 'status' }, `${count(file.count(), 'item')} read for the export, ${ru(charge)}…`), button('Cancel', () => stop.abort(), { class: 'small' }));
      } while (asked.next);
    } finally { drawChosen(); }
  }
  // A list has long items cut: these are read one by one.
  async function whole(rows, file) {
    for (let from = 0; from < rows.length; from += PART) {
      const texts = [];
      for (const row of rows.slice(from, from + PART)) texts.push(row.text ?? readable(row.unreadable ? row : await get(`items/${at(database, container)}/item${query({ id: row.id, pk: JSON.stringify(row.pk) })}`, signal)));
      await file.add(texts);
    }
  }
  function readable(row) {
    if (row.unreadable) throw new Error(`Nothing is exported: item ${JSON.stringify(row.id)}: ${row.unreadable}`);
    return row.text;
  }
  async function importFile() {
    const file = h('input', { type: 'file', accept: '.json,.jsonl,.ndjson,.csv' });
    const upsert = h('input', { type: 'checkbox' });
    const chosen = await dialog('Import', finish => [
      field('JSON lines, a JSON array, or CSV with a heading', file), h('label', { class: 'row' }, upsert, 'replace items that are there'),
      h('div', { class: 'row end' }, button('Cancel', () => finish()), button('Import', () => file.files[0] && finish({ file: file.files[0], upsert: upsert.checked }), { class: 'main' }))]);
    if (!chosen) return;
    let [written, failed, all, isCancelled] = [0, [], [], false];
    const cancel = button('Cancel', () => { isCancelled = true; cancel.disabled = true; }, { class: 'small' });
    try {
      all = documents(await chosen.file.text(), chosen.file.name);
      // What is under way is written to its end, so that it is known what was.
      for (let from = 0; from < all.length && !isCancelled;) {
        fill(chosenBar, h('span', { role: 'status' }, `${written} of ${count(all.length, 'item')} written…`), cancel);
        let [to, size] = [from, 0];
        while (to < all.length && to - from < PART && (to === from || size + all[to].length < 1000000)) { size += all[to].length; to += 1; }
        const result = await post(`items/${at(database, container)}/import`, { items: all.slice(from, to), upsert: chosen.upsert });
        written += result.written;
        const base = from;
        failed = failed.concat(result.failed.map(one => ({ ...one, nth: one.nth + base })));
        from = to;
      }
      say(`${isCancelled ? 'The import is cancelled: ' : ''}${count(written, 'item')} written${failed.length ? `, ${failed.length} not` : ''}.`, failed.length || isCancelled ? 'bad' : 'good');
    } catch (error) { failed.push({ nth: written, message: error.message }); say(`${count(written, 'item')} written, then: ${error.message}`, 'bad'); }
    drawChosen();
    await again();
    if (failed.length) fill(trouble, failed.slice(0, 20).map(one => problem({ message: `item ${one.nth + 1} of the file: ${one.message}` })));
  }
  async function create() {
    const made = await newItem(database, container, state.paths);
    if (made) { say(`Item ${made.id} is made.`, 'good'); await again(); }
  }
  await load();
}

// One item that cannot be read hides no others.
function readRow(row) {
  if (row.text === null) return { ...row, node: null };
  try { return { ...row, node: parse(row.text) }; } catch (error) { return { ...row, node: null, unreadable: `this item cannot be read: ${error.message}` }; }
}

export function cellOf(node) {
  if (node === undefined) return '';
  const text = oneLine(shown(node)).slice(0, 300);
  return node.kind === 'number' ? h('span', { class: 'j-number' }, text) : node.kind === 'literal' ? h('span', { class: 'j-literal' }, text) : text;
}
