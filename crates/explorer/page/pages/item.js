// One item: as JSON or as a tree, changed only if it is still what was read.

import { h, fill, link, button, dialog, confirmed, problem, say, tabs, oneLine, marked, escaped } from '../lib/dom.js';
import { get, post, put, at, query } from '../lib/api.js';
import { parse, pretty, tidy, isSystem, without, member, memberText, same, JsonProblem } from '../lib/json.js';
import { ru, ms, bytes, moment } from '../lib/words.js';
import { download } from '../lib/transfer.js';

const TIDY = 1000000;
const TREE = 500;
const draftOf = (database, container, pk, id) => `cosmonaut-draft ${JSON.stringify([database, container, pk, id])}`;

export default async function item({ root, account, params, search, title, go, keep, signal }) {
  const { database, container } = params;
  const [id, pk] = [search.get('id') ?? '', search.get('pk') ?? ''];
  title(`${id} · ${container}`);
  const writes = !account.readOnly;
  const path = `items/${at(database, container)}/item`;
  const key = draftOf(database, container, pk, id);
  const state = { read: null, view: search.get('view') ?? 'json' };
  const facts = h('p', { class: 'status-line', role: 'status' });
  const [trouble, body] = [h('div'), h('div')];
  const input = h('textarea', { class: 'item', spellcheck: 'false', 'aria-label': `Item ${id} as JSON`, readOnly: !writes });
  const save = button('Save', saveIt, { class: 'main', title: 'Save (Ctrl S)', disabled: true });
  const undo = button('Undo changes', () => { localStorage.removeItem(key); input.value = state.text; changed(); }, { disabled: true });
  fill(root, h('div', { class: 'head' },
    h('div', {}, h('div', { class: 'crumbs' }, link('Data', '/data'), ' / ', link(`${database}/${container}`, `/data/${at(database, container)}`)), h('h1', {}, marked(id))),
    h('div', { class: 'row' }, writes ? [undo, save, button('Duplicate', duplicate), button('Delete', removeIt, { class: 'danger' })] : null,
      button('Copy', () => navigator.clipboard.writeText(input.value).then(() => say('Copied.'), () => say('The browser does not let this be copied.', 'bad'))),
      button('Download', () => download(`${id}.json`, input.value)))),
    trouble, body, facts);
  const drawTabs = () => tabs(state.view, [['json', 'JSON'], ['tree', 'Tree']], view => { state.view = view; keep({ view: view === 'json' ? '' : view }); draw(); });
  const isChanged = () => input.value !== state.text;
  function changed() {
    save.disabled = !writes || !isChanged();
    undo.disabled = !isChanged();
    try { parse(input.value); fill(trouble); } catch (error) { fill(trouble, jsonProblem(error, input.value)); save.disabled = true; }
  }
  input.addEventListener('input', () => {
    changed();
    // A full store loses the draft on a reload, nothing else.
    try { if (isChanged()) localStorage.setItem(key, JSON.stringify({ text: input.value, etag: state.read.etag, base: state.text })); else localStorage.removeItem(key); } catch { /* it is still in the field */ }
  });
  document.addEventListener('keydown', event => { if ((event.ctrlKey || event.metaKey) && event.key === 's' && document.body.contains(input)) { event.preventDefault(); if (!save.disabled) saveIt(); } }, { signal });
  function draw() {
    fill(body, drawTabs(), state.view === 'tree' ? h('div', { class: 'card' }, treeOf(safe(input.value))) : input);
  }
  function show(read) {
    state.read = read;
    state.text = escaped(read.text.length > TIDY ? read.text : tidy(read.text));
    input.value = state.text;
    const node = safe(read.text);
    const ts = member(node, '_ts')?.raw;
    fill(facts, `${ru(read.charge)} · ${ms(read.ms)}${read.region ? ` · ${read.region}` : ''} · ${bytes(new Blob([read.text]).size)} · etag ${read.etag ?? '–'}${ts ? ` · written ${moment(Number(ts) * 1000)}` : ''}`);
    changed();
    draw();
  }
  async function load() {
    show(await get(`${path}${query({ id, pk })}`, signal));
    const draft = JSON.parse(localStorage.getItem(key) ?? 'null');
    if (draft) { input.value = draft.text; state.read = { ...state.read, etag: draft.etag }; state.base = draft.base; changed(); say('This is what you had not saved.'); }
  }
  async function saveIt() {
    const text = input.value;
    save.disabled = true;
    const base = state.base ?? state.text;
    try {
      const node = parse(text);
      const [old, now] = [memberText(safe(state.text), 'id'), memberText(node, 'id')];
      if (old !== now) throw new Error(`The id of an item cannot be changed (from ${JSON.stringify(old)}): duplicate it under the new id, and delete this one.`);
      const saved = await put(`${path}${query({ id, pk })}`, { text: stored(text), etag: state.read.etag });
      localStorage.removeItem(key);
      state.base = null;
      show(saved);
      say('Saved.', 'good');
    } catch (error) {
      changed();
      if (error.status === 412 && error.details.current) return settle(error.details, base, text);
      fill(trouble, error instanceof JsonProblem ? jsonProblem(error, text) : problem(error));
    }
    return null;
  }
  async function settle({ current, etag }, base, text) {
    const result = await merge(base, current, text);
    if (result === null) return;
    localStorage.removeItem(key);
    state.base = null;
    show({ ...state.read, text: current, etag });
    if (result === 'theirs') return;
    input.value = result;
    changed();
    await saveIt();
  }
  async function duplicate() {
    const made = await newItem(database, container, null, input.value);
    if (made) go(`/data/${at(database, container)}/item${query({ id: made.id, pk: JSON.stringify(made.pk) })}`);
  }
  async function removeIt() {
    if (!await confirmed(`Delete ${id}`, 'It is deleted only if nobody has changed it since it was read.', 'Delete')) return;
    try {
      const result = await post(`items/${at(database, container)}/delete`, { items: [{ id, pk: JSON.parse(pk), etag: state.read.etag }] });
      if (result.failed.length) throw new Error(result.failed[0].message);
      say(`${id} is deleted.`, 'good');
      go(`/data/${at(database, container)}`);
    } catch (error) { fill(trouble, problem(error)); }
  }
  await load();
}

// What the service adds is not sent back.
const stored = text => pretty(without(parse(text), isSystem));
const safe = text => { try { return parse(text); } catch { return { kind: 'object', members: [] }; } };

export function jsonProblem(error, text) {
  if (error.place === undefined) return problem(error);
  const before = text.slice(0, error.place).split('\n');
  const line = text.split('\n')[before.length - 1].slice(0, 200);
  return h('div', { class: 'problem', role: 'alert' }, h('p', {}, `line ${before.length}, column ${before.at(-1).length + 1}: ${error.message}`), h('pre', {}, `${line}\n${' '.repeat(Math.min(200, before.at(-1).length))}^`));
}

export function treeOf(node, name) {
  const label = name === undefined ? '' : h('span', { class: 'name' }, `${oneLine(name)}: `);
  if (node.kind !== 'object' && node.kind !== 'array') return h('div', {}, label, h('span', { class: `j-${node.kind}` }, marked(node.raw)));
  const inner = node.kind === 'object' ? node.members.map(found => [found.name, found.value]) : node.items.map((value, n) => [String(n), value]);
  if (!inner.length) return h('div', {}, label, node.kind === 'object' ? '{}' : '[]');
  const list = h('ul', { class: 'tree' });
  const details = h('details', { open: name === undefined || inner.length < 20 }, h('summary', {}, label, h('span', { class: 'muted' }, node.kind === 'object' ? `{ ${inner.length} }` : `[ ${inner.length} ]`)), list);
  const build = () => { if (!list.hasChildNodes()) fill(list, inner.slice(0, TREE).map(([key, value]) => h('li', {}, treeOf(value, key))), inner.length > TREE ? h('li', { class: 'muted' }, `and ${inner.length - TREE} more (see the JSON)`) : null); };
  if (details.open) build();
  details.addEventListener('toggle', build);
  return details;
}

// Three ways: as it was read, as it is now, as it was written here. Gives the text to save, 'theirs', or null.
export function merge(base, current, yours) {
  const [b, c, y] = [base, current, yours].map(safe);
  const names = [...new Set([y, c, b].flatMap(node => node.members.map(found => found.name)))].filter(name => !isSystem(name));
  const rows = names.map(name => {
    const [was, theirs, mine] = [b, c, y].map(node => member(node, name));
    const [they, me] = [!same(was, theirs), !same(was, mine)];
    const kind = they && me ? (same(theirs, mine) ? 'none' : 'both') : they ? 'theirs' : me ? 'yours' : 'none';
    return { name, was, theirs, mine, kind, take: kind === 'theirs' ? 'theirs' : 'yours' };
  });
  const show = value => (value === undefined ? h('span', { class: 'muted' }, '–') : marked(pretty(value)).slice(0, 2000));
  const cell = row => (row.kind !== 'both' ? row.kind : h('div', {}, ['yours', 'theirs'].map(side => h('label', { class: 'inline' },
    h('input', { type: 'radio', name: `take ${row.name}`, checked: row.take === side, onchange: () => { row.take = side; } }), side))));
  const changed = rows.filter(row => row.kind !== 'none');
  const merged = () => {
    const members = rows.map(row => [row.name, row.take === 'theirs' ? row.theirs : row.mine]).filter(([, value]) => value !== undefined);
    return pretty({ kind: 'object', members: members.map(([name, value]) => ({ name, rawName: JSON.stringify(name), value })) });
  };
  return dialog('Somebody has changed this item since you read it', finish => h('div', { class: 'broad' },
    h('p', {}, 'Member by member. Where both have changed one, choose.'),
    h('table', { class: 'diff' }, h('thead', {}, h('tr', {}, ['member', 'as you read it', 'as it is now', 'as you wrote it', 'result'].map(name => h('th', { scope: 'col' }, name)))),
      h('tbody', {}, changed.map(row => h('tr', { class: row.kind }, h('td', {}, oneLine(row.name)), h('td', {}, show(row.was)), h('td', {}, show(row.theirs)), h('td', {}, show(row.mine)), h('td', {}, cell(row)))))),
    h('div', { class: 'row end' }, button('Keep editing', () => finish()), button('Take theirs', () => finish('theirs')), button('Save the result', () => finish(merged()), { class: 'main' }))));
}

export async function newItem(database, container, paths, text) {
  const names = (paths ?? []).map(path => path.split('/').filter(Boolean)).filter(path => path.length === 1 && path[0] !== 'id').map(([name]) => name);
  const start = text ? tidy(stored(text)) : pretty({ kind: 'object', members: ['id', ...names].map(name => ({ name, rawName: JSON.stringify(name), value: { kind: 'string', raw: name === 'id' ? `"${crypto.randomUUID()}"` : '""' } })) });
  const input = h('textarea', { class: 'item', rows: 14, spellcheck: 'false', 'aria-label': 'The item as JSON', value: start });
  const failed = h('div');
  return dialog(text ? 'Duplicate' : `New item in ${container}`, finish => {
    const make = async () => {
      try { parse(input.value); finish(await post(`items/${at(database, container)}/item`, { text: input.value })); }
      catch (error) { fill(failed, error instanceof JsonProblem ? jsonProblem(error, input.value) : problem(error)); }
    };
    return h('div', {}, text ? h('p', {}, 'Give it another id or partition key.') : null, input, failed, h('div', { class: 'row end' }, button('Cancel', () => finish()), button('Make', make, { class: 'main' })));
  });
}

