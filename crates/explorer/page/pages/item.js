// One item: as JSON or as a tree, changed only if it is still what was read.

import { h, fill, link, button, dialog, confirmed, problem, say, tabs, oneLine, marked, escaped } from '../lib/dom.js';
import { get, post, put, at, query } from '../lib/api.js';
import { parse, compact, pretty, tidy, isSystem, without, member, memberText, same, JsonProblem } from '../lib/json.js';
import { ru, ms, bytes, moment } from '../lib/words.js';
import { download } from '../lib/transfer.js';
import { kept, keep as keepHere, keepDraft, forget } from '../lib/kept.js';

const TIDY = 1000000;
// How many rows of a tree are drawn at once, and how many are unfolded from the start.
const TREE = 500;
const UNFOLDED = 200;
// How much of a text a tree shows.
const SHOWN = 20000;
// A long item is neither read nor stored anew with each key.
const PAUSE = 300;

export default async function item({ root, account, params, search, title, go, keep, signal }) {
  const { database, container } = params;
  const [id, pk] = [search.get('id') ?? '', search.get('pk') ?? ''];
  title(`${id} · ${container}`);
  const writes = !account.readOnly;
  const path = `items/${at(database, container)}/item`;
  const name = `draft ${JSON.stringify([database, container, pk, id])}`;
  // `text` is what the account had when it was read; what is in the field began with `base`, which had `etag`.
  const state = { read: null, text: '', base: '', etag: null, view: search.get('view') ?? 'json' };
  const facts = h('p', { class: 'status-line', role: 'status' });
  const [trouble, body] = [h('div'), h('div')];
  const input = h('textarea', { class: 'item', spellcheck: 'false', 'aria-label': `Item ${id} as JSON`, readOnly: !writes });
  const save = button('Save', saveIt, { class: 'main', title: 'Save (Ctrl S)', disabled: true });
  const undo = button('Undo changes', () => { input.value = state.text; Object.assign(state, { base: state.text, etag: state.read.etag }); changed(); look(); }, { disabled: true });
  fill(root, h('div', { class: 'head' },
    h('div', {}, h('div', { class: 'crumbs' }, link('Data', '/data'), ' / ', link(`${database}/${container}`, `/data/${at(database, container)}`)), h('h1', {}, marked(id))),
    h('div', { class: 'row' }, writes ? [undo, save, button('Duplicate', duplicate), button('Delete', removeIt, { class: 'danger' })] : null,
      button('Copy', () => navigator.clipboard.writeText(input.value).then(() => say('Copied.'), () => say('The browser does not let this be copied.', 'bad'))),
      button('Download', () => download(`${id}.json`, input.value)))),
    trouble, body, facts);
  const drawTabs = () => tabs(state.view, [['json', 'JSON'], ['tree', 'Tree']], view => { state.view = view; keep({ view: view === 'json' ? '' : view }); draw(); });
  const isChanged = () => input.value !== state.text;
  let [pause, saving, full] = [0, false, false];
  function changed() {
    save.disabled = !writes || saving || !isChanged();
    undo.disabled = !isChanged();
  }
  // What takes long with a long item.
  function look() {
    clearTimeout(pause);
    pause = 0;
    if (!isChanged()) forget(name);
    // Without what it began with, a draft is still worth keeping: every difference is then asked about.
    else if (!keepHere(name, { text: input.value, etag: state.etag, base: state.base }) && !keepHere(name, { text: input.value, etag: state.etag }) && !full) {
      full = true;
      say('The browser has no room for this draft: save before you leave.', 'bad');
    }
    try { parse(input.value); fill(trouble); } catch (error) { fill(trouble, jsonProblem(error, input.value)); }
  }
  input.addEventListener('input', () => { changed(); clearTimeout(pause); pause = setTimeout(look, PAUSE); });
  const flush = () => { if (pause) look(); };
  signal.addEventListener('abort', flush);
  window.addEventListener('pagehide', flush, { signal });
  document.addEventListener('keydown', event => { if ((event.ctrlKey || event.metaKey) && event.key === 's' && document.body.contains(input)) { event.preventDefault(); if (!save.disabled) saveIt(); } }, { signal });
  function draw() {
    fill(body, drawTabs(), state.view === 'tree' ? h('div', { class: 'card' }, treeOf(safe(input.value))) : input);
  }
  // Shows what was read. What was typed since `sent` stays in the field, as a change of it.
  function show(read, sent = input.value) {
    const typed = input.value === sent ? null : input.value;
    state.read = read;
    state.text = state.base = escaped(read.text.length > TIDY ? read.text : tidy(read.text));
    state.etag = read.etag;
    const at_ = [input.selectionStart, input.selectionEnd, input.scrollTop];
    input.value = typed ?? state.text;
    [input.selectionStart, input.selectionEnd, input.scrollTop] = at_;
    const ts = member(safe(read.text), '_ts')?.raw;
    fill(facts, `${ru(read.charge)} · ${ms(read.ms)}${read.region ? ` · ${read.region}` : ''} · ${bytes(new Blob([read.text]).size)} · etag ${read.etag ?? '–'}${ts ? ` · written ${moment(Number(ts) * 1000)}` : ''}`);
    changed();
    look();
    if (state.view === 'tree' || !body.contains(input)) draw();
  }
  async function load() {
    const draft = kept(name);
    show(await get(`${path}${query({ id, pk })}`, signal));
    if (!draft || draft.text === state.text) return;
    input.value = draft.text;
    Object.assign(state, { etag: draft.etag, base: draft.base ?? '' });
    changed();
    look();
    draw();
    say('This is what you had not saved.');
  }
  async function saveIt() {
    if (saving) return null;
    const [text, base] = [input.value, state.base];
    saving = true;
    changed();
    try {
      const node = parse(text);
      const [old, now] = [memberText(safe(state.text), 'id'), memberText(node, 'id')];
      if (old !== now) throw new Error(`The id of an item cannot be changed (from ${JSON.stringify(old)}): duplicate it under the new id, and delete this one.`);
      const saved = await put(`${path}${query({ id, pk })}`, { text: stored(text), etag: state.etag });
      saving = false;
      show(saved, text);
      say(isChanged() ? 'Saved. What you have typed meanwhile is not.' : 'Saved.', 'good');
    } catch (error) {
      saving = false;
      changed();
      if (error.status === 412 && error.details.current) return settle(error.details, base);
      fill(trouble, error instanceof JsonProblem ? jsonProblem(error, text) : problem(error));
    }
    return null;
  }
  async function settle({ current, etag }, base) {
    // More may have been typed while the answer was under way.
    const text = input.value;
    try { parse(text); } catch (error) {
      fill(trouble, problem(new Error('Somebody has changed this item since you read it. Mend the JSON, and save again to see both.')), jsonProblem(error, text));
      return;
    }
    const result = await merge(base, current, text);
    if (result === null) return;
    show({ ...state.read, text: current, etag });
    if (result === 'theirs') return;
    input.value = result;
    changed();
    look();
    await saveIt();
  }
  async function duplicate() {
    let text = '';
    try { text = stored(input.value); } catch (error) { fill(trouble, jsonProblem(error, input.value)); return; }
    const made = await newItem(database, container, null, { text, id, pk });
    if (made) go(`/data/${at(database, container)}/item${query({ id: made.id, pk: JSON.stringify(made.pk) })}`);
  }
  async function removeIt() {
    if (!await confirmed(`Delete ${id}`, 'It is deleted only if nobody has changed it since it was read.', 'Delete')) return;
    try {
      const result = await post(`items/${at(database, container)}/delete`, { items: [{ id, pk: JSON.parse(pk), etag: state.etag }] });
      if (result.failed.length) throw new Error(result.failed[0].message);
      input.value = state.text;
      look();
      say(`${id} is deleted.`, 'good');
      go(`/data/${at(database, container)}`);
    } catch (error) { fill(trouble, problem(error)); }
  }
  await load();
}

// What the service adds is not sent back, nor are blanks that only people need.
function stored(text) {
  const node = parse(text);
  if (node.kind !== 'object') throw new JsonProblem('an item is an object: { "id": … }', 0);
  return compact(without(node, isSystem));
}
const safe = text => { try { return parse(text); } catch { return { kind: 'object', members: [] }; } };

export function jsonProblem(error, text) {
  if (error.place === undefined) return problem(error);
  const before = text.slice(0, error.place).split('\n');
  const line = text.split('\n')[before.length - 1].slice(0, 200);
  return h('div', { class: 'problem', role: 'alert' }, h('p', {}, `line ${before.length}, column ${before.at(-1).length + 1}: ${error.message}`), h('pre', {}, `${line}\n${' '.repeat(Math.min(200, before.at(-1).length))}^`));
}

// Unfolds what is small; the rest is built when somebody unfolds it.
export function treeOf(node, name, left = { rows: UNFOLDED }) {
  const label = name === undefined ? '' : h('span', { class: 'name' }, `${oneLine(name)}: `);
  if (node.kind !== 'object' && node.kind !== 'array') return h('div', {}, label, h('span', { class: `j-${node.kind}` }, marked(node.raw.slice(0, SHOWN)), node.raw.length > SHOWN ? `… (${bytes(node.raw.length)})` : null));
  const inner = node.kind === 'object' ? node.members.map(found => [found.name, found.value]) : node.items.map((value, n) => [String(n), value]);
  if (!inner.length) return h('div', {}, label, node.kind === 'object' ? '{}' : '[]');
  const list = h('ul', { class: 'tree' });
  const isOpen = name === undefined || (inner.length < 20 && inner.length <= left.rows);
  if (isOpen) left.rows -= inner.length;
  const details = h('details', { open: isOpen }, h('summary', {}, label, h('span', { class: 'muted' }, node.kind === 'object' ? `{ ${inner.length} }` : `[ ${inner.length} ]`)), list);
  const build = (from, budget) => {
    list.append(...inner.slice(from, from + TREE).map(([key, value]) => h('li', {}, treeOf(value, key, budget))));
    const rest = inner.length - from - TREE;
    if (rest > 0) list.append(h('li', {}, button(`${Math.min(TREE, rest)} more of ${rest}`, event => { event.target.closest('li').remove(); build(from + TREE, { rows: 0 }); }, { class: 'small' })));
  };
  if (isOpen) build(0, left);
  details.addEventListener('toggle', () => { if (details.open && !list.hasChildNodes()) build(0, { rows: UNFOLDED }); });
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

// A new one, or a copy of `of`. What is typed outlives the dialog, until the item is made or somebody begins anew.
export async function newItem(database, container, paths, of = null) {
  const draft = `new ${JSON.stringify([database, container, of && [of.pk, of.id]])}`;
  const names = (paths ?? []).map(path => path.split('/').filter(Boolean)).filter(path => path.length === 1 && path[0] !== 'id').map(([name]) => name);
  const start = of ? tidy(of.text) : pretty({ kind: 'object', members: ['id', ...names].map(name => ({ name, rawName: JSON.stringify(name), value: { kind: 'string', raw: name === 'id' ? `"${crypto.randomUUID()}"` : '""' } })) });
  const input = h('textarea', { class: 'item', rows: 14, spellcheck: 'false', 'aria-label': 'The item as JSON', value: kept(draft) ?? start });
  const [failed, note] = [h('div'), h('div')];
  let pause = 0;
  const look = () => { clearTimeout(pause); pause = 0; if (input.value === start) forget(draft); else keepDraft(draft, input.value); };
  const flush = () => { if (pause) look(); };
  input.addEventListener('input', () => { clearTimeout(pause); pause = setTimeout(look, PAUSE); });
  window.addEventListener('pagehide', flush);
  const anew = () => { input.value = start; look(); fill(note); input.focus(); };
  if (input.value !== start) fill(note, h('p', { class: 'note' }, 'This is what you had not made. ', button('Begin anew', anew, { class: 'small' })));
  const result = await dialog(of ? 'Duplicate' : `New item in ${container}`, finish => {
    const make = async () => {
      try {
        const sent = input.value;
        const made = await post(`items/${at(database, container)}/item`, { text: compact(parse(sent)) });
        if (input.value === sent) input.value = start;
        look();
        finish(made);
      }
      catch (error) { fill(failed, error instanceof JsonProblem ? jsonProblem(error, input.value) : problem(error)); }
    };
    return h('div', {}, of ? h('p', {}, 'Give it another id or partition key.') : null, note, input, failed, h('div', { class: 'row end' }, button('Cancel', () => finish()), button('Make', make, { class: 'main' })));
  });
  window.removeEventListener('pagehide', flush);
  flush();
  return result;
}

