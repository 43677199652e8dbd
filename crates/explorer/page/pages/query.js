// A query: its text, its rows as they come, what it cost, and how it is run. A link never runs by itself.

import { h, fill, update, link, button, field, dialog, problem, say, tabs, empty, oneLine, marked } from '../lib/dom.js';
import { get, post, at, query } from '../lib/api.js';
import { parse, member, tidy, isSystem, memberText } from '../lib/json.js';
import { ru, ms, count, badge, bytes } from '../lib/words.js';
import { grid } from '../lib/grid.js';
import { editor } from '../lib/editor.js';
import { collector, columnsOf } from '../lib/transfer.js';
import { treeOf } from './item.js';
import { cellOf } from './items.js';
import { kept, keep as keepHere } from '../lib/kept.js';

const HISTORY = 'queries';
const LONGEST_LINK = 6000;
const KEPT = 100;
const DRAWN = 200;
let functions = null;
let trees = 0;

const stored = name => kept(name, []);
const store = (name, value) => { if (!keepHere(name, value)) say('The browser keeps no more: delete some of the saved queries.', 'bad'); };

export default async function page({ root, params, search, keep, title, go, signal }) {
  const { databases } = await get('databases', signal);
  const all = databases.flatMap(database => database.containers.map(container => [database.id, container.id]));
  if (!params.container) {
    const last = stored('query place');
    const found = all.find(one => one.join('/') === last.join('/')) ?? all[0];
    if (found) return go(`/query/${at(...found)}${location.search}`, { replace: true });
    title('Query');
    return fill(root, h('h1', {}, 'Query'), empty('There is no container to ask. ', link('Make one', '/data'), '.'));
  }
  const { database, container } = params;
  store('query place', [database, container]);
  title(`Query ${container}`);
  const here = `${database}/${container}`;
  const draftOf = (...place) => `query ${JSON.stringify(place)}`;
  const draftName = draftOf(database, container);
  functions ??= new Set((await get('functions', signal)).functions.map(name => name.toUpperCase()));

  const state = { rows: [], parts: [], seen: new Set(['id']), next: null, charge: 0, time: 0, requests: 0, pages: 0, regions: new Set(), diagnostics: [], running: null, plan: null, tab: search.get('tab') ?? 'rows', view: search.get('view') ?? 'table', asked: null, failed: null };
  const where = h('select', { 'aria-label': 'Container', onchange: event => go(`/query/${event.target.value}`) }, all.map(one => h('option', { value: at(...one), selected: one.join('/') === `${database}/${container}` }, one.join('/'))));
  const pk = h('input', { class: 'mono', placeholder: 'key: any', 'aria-label': 'Partition key, as JSON', value: search.get('pk') ?? '', spellcheck: 'false', onchange: () => keep({ pk: pk.value }) });
  const size = h('select', { 'aria-label': 'Rows a page' }, [25, 100, 500, 1000].map(number => h('option', { value: number, selected: number === 100 }, `${number} a page`)));
  const run = button('Run', () => start(), { class: 'main', title: 'Run (Ctrl Enter)' });
  const cancel = button('Cancel', () => state.running?.abort(), { hidden: true, title: 'Cancel (Esc)' });
  const parameters = h('div', { class: 'row' });
  const facts = h('p', { class: 'status-line', role: 'status' });
  const result = h('div');
  const text = editor({
    label: 'Query', value: search.get('q') ?? kept(draftName) ?? 'SELECT * FROM c', functions: () => functions, members: () => [...state.seen], names: () => all.map(([, name]) => name).filter(name => /^[A-Za-z_]\w*$/.test(name)),
    onChange: changed, onRun: () => start(), onPlan: explain,
  });
  fill(root,
    h('div', { class: 'head' }, h('h1', {}, 'Query'), h('div', { class: 'row' }, where, button('History', showHistory), button('Save', saveQuery), button('Copy link', copyLink))),
    text.element, parameters,
    h('div', { class: 'filters' }, run, cancel, button('Plan', explain, { title: 'Plan (Ctrl Shift Enter)' }), pk, size), facts, result);
  document.addEventListener('keydown', event => { if (event.key === 'Escape' && state.running) state.running.abort(); }, { signal });
  signal.addEventListener('abort', () => state.running?.abort());

  let checking = 0;
  function changed(value) {
    // Where there is no room, it is still in the field.
    keepHere(draftName, value);
    keep({ q: value.length < LONGEST_LINK ? value : null });
    drawParameters();
    clearTimeout(checking);
    checking = setTimeout(async () => {
      try {
        const { problem: found } = await post('check', { query: value }, signal);
        if (text.value() === value) text.wrong(value.trim() ? found : null);
      } catch { /* running it says so */ }
    }, 350);
  }
  const values = new Map([...search].filter(([name]) => name.startsWith('p.')).map(([name, value]) => [`@${name.slice(2)}`, value]));
  function names() { return [...new Set(text.value().replace(/'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|--[^\n]*/g, '').match(/@\w+/g) ?? [])]; }
  function drawParameters() {
    const wanted = names();
    if (parameters.dataset.names === wanted.join()) return;
    parameters.dataset.names = wanted.join();
    fill(parameters, wanted.map(name => field(name, h('input', { class: 'mono', value: values.get(name) ?? '', placeholder: 'JSON: 10 or "Oslo"', spellcheck: 'false',
      oninput: event => { values.set(name, event.target.value); keep({ [`p.${name.slice(1)}`]: event.target.value }); }, onkeydown: event => { if (event.key === 'Enter') start(); } }))));
  }
  const question = next => ({ query: text.value(), parameters: names().filter(name => values.get(name)).map(name => [name, values.get(name)]), pk: pk.value.trim() || null, max: Number(size.value), next });

  async function start(next = null) {
    if (state.running) return;
    const asked = next ? { ...state.asked, next } : question(null);
    if (!next) Object.assign(state, { rows: [], parts: [], next: null, charge: 0, time: 0, requests: 0, pages: 0, regions: new Set(), diagnostics: [], asked, failed: null, over: false, table: null });
    state.failed = null;
    state.tab = 'rows';
    state.running = new AbortController();
    drawRun();
    try {
      const found = await post(`query/${at(database, container)}`, asked, state.running.signal);
      state.parts.push({ asked, from: state.rows.length, to: state.rows.length + found.rows.length });
      for (const row of found.rows) {
        const node = row.text === null ? null : parse(row.text);
        state.rows.push({ ...row, node });
        if (state.seen.size < 500) gather(node, state.seen);
      }
      Object.assign(state, { next: found.next ?? null, over: !found.next, pages: state.pages + 1, charge: state.charge + (found.charge ?? 0), time: state.time + (found.ms ?? 0), requests: state.requests + (found.requests ?? 0) });
      (found.regions ?? []).forEach(region => state.regions.add(region));
      state.diagnostics.push(...(found.diagnostics ?? []));
      text.wrong(null);
      if (!next) remember(asked);
    } catch (error) {
      if (error.name === 'AbortError') say('Cancelled. The rows that had come are kept; what the last page cost is not known.');
      else {
        state.failed = error;
        state.charge += error.details?.charge ?? 0;
        if (error.details?.diagnostics) state.diagnostics.push(error.details.diagnostics);
        if (error.details?.place) text.wrong(error.details.place);
      }
    } finally { state.running = null; }
    if (!signal.aborted) { drawRun(); draw(); }
  }
  async function explain() {
    if (state.running) return;
    state.running = new AbortController();
    drawRun();
    try { state.plan = await post(`query/${at(database, container)}/explain`, question(null), state.running.signal); state.failed = null; text.wrong(null); }
    catch (error) {
      if (error.name !== 'AbortError') { state.failed = error; state.plan = null; if (error.details?.place) text.wrong(error.details.place); }
    } finally { state.running = null; }
    if (!signal.aborted) { state.tab = state.plan ? 'plan' : 'rows'; drawRun(); draw(); }
  }
  function drawRun() {
    run.disabled = Boolean(state.running);
    cancel.hidden = !state.running;
    const parts = state.pages ? [`${count(state.rows.length, 'row')}${state.next ? ', more follow' : ''}`, count(state.pages, 'page'), count(state.requests, 'request'), ru(state.charge), ms(state.time), ...state.regions] : [];
    fill(facts, state.running ? 'Running… ' : '', parts.join(' · '));
  }
  function draw() {
    const pick = tab => { state.tab = tab; keep({ tab: tab === 'rows' ? '' : tab }); draw(); };
    const pickView = view => { state.view = view; keep({ view: view === 'table' ? '' : view }); draw(); };
    const isRows = state.tab === 'rows';
    update(result, h('div', { class: 'row' }, tabs(state.tab, [['rows', `Rows${state.pages ? ` ${state.rows.length}${state.next ? '+' : ''}` : ''}`], ['plan', 'Plan'], ['requests', `Requests ${state.requests || ''}`]], pick),
      isRows && state.rows.length ? [h('span', { class: 'push' }), tabs(state.view, [['table', 'Table'], ['json', 'JSON'], ['tree', 'Tree']], pickView), button('CSV', () => save('csv'), { class: 'small' }), button('JSON lines', () => save('jsonl'), { class: 'small' })] : null),
      state.failed && isRows ? problem(state.failed) : null,
      isRows ? rows() : state.tab === 'plan' ? plan() : requests(state.diagnostics));
  }
  function rows() {
    if (!state.rows.length) return state.pages ? empty('The query has no rows.') : state.failed ? null : empty('Run it with Ctrl Enter.');
    const more = state.next ? h('div', { class: 'row' }, button(`More: about ${ru(state.charge / state.pages)}`, () => start(state.next), { 'data-key': 'more' })) : null;
    if (state.view === 'table') return [rowsTable(), more];
    const part = state.rows.slice(0, DRAWN);
    const note = state.rows.length > DRAWN ? h('p', { class: 'muted' }, `The first ${DRAWN}; the table has all.`) : null;
    const shown = state.view === 'tree' ? tree(part) : h('pre', { class: 'item-text', tabindex: 0, 'aria-label': 'Rows as JSON' }, part.map(row => `${row.node ? marked(tidy(row.text)) : `${row.start}… (${bytes(row.size)})`}\n`));
    return [shown, note, more];
  }
  function tree(part) {
    const left = { rows: DRAWN };
    // What is unfolded in it belongs to these rows.
    return h('div', { class: 'card', 'data-key': `tree ${trees += 1}` }, part.map((row, n) => (row.node ? treeOf(row.node, String(n), left) : cut(row))));
  }
  const cut = row => h('pre', {}, `${marked(row.start)}… (${bytes(row.size)})`);
  // One table for all pages of a run, so that its place stays.
  function rowsTable() {
    const found = columnsOf(state.rows.map(row => row.node).filter(Boolean)).filter(name => !isSystem(name)).slice(0, 30);
    const columns = (found.length ? found : ['value']).map(name => ({ name, label: oneLine(name), width: 'minmax(7rem, 1fr)', cell: row => (row.node ? cellOf(row.node.kind === 'object' ? member(row.node, name) : name === 'value' ? row.node : undefined) : `${oneLine(row.start).slice(0, 80)}… (${bytes(row.size)})`) }));
    state.table ??= grid({ label: 'Rows', columns, onOpen: open });
    state.table.columns(columns);
    state.table.set(state.rows);
    return state.table.element;
  }
  function open(row) {
    dialog('Row', finish => h('div', { class: 'broad' }, row.node ? h('pre', { class: 'item-text', tabindex: 0 }, marked(tidy(row.text))) : cut(row),
      h('div', { class: 'row end' }, memberText(row.node, 'id') && memberText(row.node, '_rid') ? button('To the item', async () => { finish(); await toItem(row); }) : null, button('Close', () => finish(), { class: 'main' }))));
  }
  // The row says nothing of the key; the list by id does.
  async function toItem(row) { go(`/data/${at(database, container)}?id=${encodeURIComponent(memberText(row.node, 'id'))}`); }
  function plan() {
    if (!state.plan) return empty('Ctrl Shift Enter plans the query, and asks each partition for its first page to measure it.');
    const found = state.plan;
    const index = one => h('li', { class: 'mono' }, one.paths.join(', '), one.impact ? h('span', { class: 'muted' }, ` (impact: ${one.impact.toLowerCase()})`) : '');
    const fact = (name, value) => [h('dt', {}, name), h('dd', {}, value)];
    return [
      h('section', { class: 'card' }, h('dl', { class: 'facts' }, fact('Planned', found.plannedBy === 'client' ? 'here, without a request' : `by the service, because this client cannot: ${found.notUnderstood}`),
        fact('Sent', h('code', {}, found.sent)), fact('Merged', found.merged ? 'of all partitions, here' : 'no: rows come as partitions give them'),
        fact('Partitions', `${found.partitions.length} of ${found.partitions.length + found.partitionsRuledOut}`), fact('Cost of planning', ru(found.requestCharge)))),
      h('section', { class: 'card' }, h('h2', {}, 'First page of each partition'), h('div', { class: 'wide' }, h('table', {}, h('thead', {}, h('tr', {}, ['Partition', 'Rows', 'RU', 'Time', 'In service', 'Documents read', 'Index hits', 'Region'].map(name => h('th', { scope: 'col' }, name)))),
        h('tbody', {}, found.partitions.map(one => h('tr', {}, [one.id ?? '–', `${one.rows}${one.hasMore ? '+' : ''}`, one.requestCharge.toFixed(2), ms(one.elapsedMs), ms(one.metrics?.totalMs), one.metrics?.retrievedDocuments ?? '–', one.metrics ? `${Math.round(one.metrics.indexHitRatio * 100)} %` : '–', one.regions.at(-1) ?? '–'].map(value => h('td', {}, value)))))))),
      h('section', { class: 'card' }, h('h2', {}, 'Indexes'), found.indexes ? [h('p', {}, 'Used'), found.indexes.used.length ? h('ul', {}, found.indexes.used.map(index)) : h('p', { class: 'muted' }, 'none'),
        found.indexes.potential.length ? [h('p', {}, 'Would help'), h('ul', {}, found.indexes.potential.map(index)), link('To the indexing policy', `/data/${at(database, container)}/settings`)] : null] : h('p', { class: 'muted' }, 'The service does not say.')),
    ];
  }
  async function save(kind) {
    if (state.running) return;
    const file = collector(kind);
    state.running = new AbortController();
    drawRun();
    try {
      let charge = 0;
      for (const part of state.parts) {
        const rows = state.rows.slice(part.from, part.to);
        const isCut = rows.some(row => row.text === null);
        const found = isCut ? await post(`query/${at(database, container)}`, { ...part.asked, whole: true }, state.running.signal) : { rows };
        if (isCut && !isStill(rows, found.rows)) throw new Error('The rows have changed since they were read. Run the query again, and export then.');
        charge += found.charge ?? 0;
        await file.add(found.rows.map(row => row.text));
      }
      await file.save(`${container}-rows`);
      say(`${count(file.count(), 'row')} exported${charge ? `; long ones were read again for ${ru(charge)}` : ''}.`, 'good');
    } catch (error) { say(error.name === 'AbortError' ? 'The export is cancelled.' : error.message, 'bad'); } finally { state.running = null; }
    if (!signal.aborted) drawRun();
  }
  // A list has long rows cut: their page is read again, and has to be the one that is shown.
  const isStill = (rows, found) => rows.length === found.length && rows.every((row, n) => row.text === null || row.text === found[n].text);
  function remember(asked) {
    const entry = { query: asked.query, parameters: asked.parameters, pk: asked.pk, place: here, at: Date.now(), charge: state.charge, rows: state.rows.length };
    const old = stored(HISTORY).filter(one => one.name || one.query !== entry.query || one.place !== entry.place);
    const named = old.filter(one => one.name);
    store(HISTORY, [entry, ...old.filter(one => !one.name).slice(0, KEPT), ...named]);
  }
  async function saveQuery() {
    const name = h('input', { 'aria-label': 'Name', autocomplete: 'off' });
    const done = await dialog('Save this query', finish => [field('Name', name), h('div', { class: 'row end' }, button('Cancel', () => finish()), button('Save', () => name.value && finish(true), { class: 'main' }))]);
    if (done) { store(HISTORY, [...stored(HISTORY).filter(one => one.name !== name.value), { name: name.value, query: text.value(), parameters: question(null).parameters, pk: question(null).pk, place: here, at: Date.now() }]); say('Saved in this browser.', 'good'); }
  }
  async function showHistory() {
    const take = await dialog('History', finish => {
      const list = stored(HISTORY);
      const line = one => h('li', {}, h('div', { class: 'row' }, button('Take', () => finish(one), { class: 'small' }), one.name ? h('b', {}, one.name) : null, h('span', { class: 'muted' }, one.place),
        one.name ? button('Delete', event => { store(HISTORY, stored(HISTORY).filter(other => other.name !== one.name)); event.target.closest('li').remove(); }, { class: 'small' }) : null), h('pre', {}, marked(one.query)), one.parameters?.length ? h('p', { class: 'muted mono' }, oneLine(one.parameters.map(([name, value]) => `${name} = ${value}`).join(', '))) : null);
      const [named, recent] = [list.filter(one => one.name), list.filter(one => !one.name)];
      return h('div', { class: 'broad' }, named.length ? [h('p', {}, 'Saved'), h('ul', { class: 'nest root' }, named.map(line))] : null, recent.length ? [h('p', {}, 'Recent'), h('ul', { class: 'nest root' }, recent.map(line))] : empty('No query has been run yet.'), h('div', { class: 'row end' }, button('Close', () => finish())));
    });
    if (take) use(take);
  }
  // With its parameters, and in its container if that is still there.
  function use({ query: wanted, parameters: given = [], pk: key = null, place }) {
    const [of] = all.filter(one => one.join('/') === place && place !== here);
    const inAddress = Object.fromEntries(given.map(([name, value]) => [`p.${name.slice(1)}`, value]));
    if (of) {
      const isLong = wanted.length >= LONGEST_LINK;
      // The page of that container begins with its draft where the address has no text.
      if (isLong) keepHere(draftOf(...of), wanted);
      go(`/query/${at(...of)}${query({ q: isLong ? null : wanted, pk: key, ...inAddress })}`);
      return;
    }
    given.forEach(([name, value]) => values.set(name, value));
    delete parameters.dataset.names;
    pk.value = key ?? '';
    keep({ pk: pk.value, ...inAddress });
    text.set(wanted);
  }
  function copyLink() {
    const isLong = text.value().length >= LONGEST_LINK;
    navigator.clipboard.writeText(location.href).then(() => say(isLong ? 'Copied without the text, which is too long for a link.' : 'Copied.'), () => say('The browser does not let this be copied.', 'bad'));
  }
  drawParameters();
  drawRun();
  draw();
  // Completion knows the members of some items before a query is run.
  get(`items/${at(database, container)}?max=10`, signal).then(found => found.items.forEach(row => row.text && gather(parse(row.text), state.seen)), () => {});
  return null;
}

function gather(node, names, depth = 0) {
  if (!node || depth > 4) return;
  if (node.kind === 'object') node.members.forEach(found => { if (/^[A-Za-z_]\w*$/.test(found.name)) names.add(found.name); gather(found.value, names, depth + 1); });
  if (node.kind === 'array') node.items.slice(0, 5).forEach(item => gather(item, names, depth + 1));
}

// Every attempt as a bar: when it began and how long it took, in which region, and what came of it.
export function requests(diagnostics) {
  if (!diagnostics.length) return empty('No request has been made yet.');
  let before = 0;
  const attempts = diagnostics.flatMap(one => { const base = before; before += one.elapsedMs; return one.attempts.map(attempt => ({ ...attempt, start: base + attempt.startedMs, operation: `${one.operation} ${one.resource}` })); });
  const end = Math.max(before, 0.001);
  return h('section', { class: 'card' }, h('p', { class: 'muted' }, 'One bar an attempt. Pages follow each other; partitions of one page may have been asked at once.'), h('div', { class: 'bars' }, attempts.slice(0, 500).map(attempt => {
    const bar = h('i', { class: attempt.status >= 500 || attempt.error ? 'failed' : '' });
    bar.style.left = `${(attempt.start / end) * 100}%`;
    bar.style.width = `${(attempt.latencyMs / end) * 100}%`;
    const outcome = attempt.status ? `${attempt.status}${attempt.subStatus ? `/${attempt.subStatus}` : ''}` : attempt.error;
    return [h('div', { class: 'row label', title: `${attempt.operation} at ${attempt.endpoint}` }, badge(attempt.region), `${outcome}`, attempt.next !== 'done' ? h('span', { class: 'muted' }, `then ${attempt.next}`) : ''), h('div', { class: 'track' }, bar, h('span', {}, `${ms(attempt.latencyMs)}${attempt.requestCharge ? ` · ${ru(attempt.requestCharge)}` : ''}`))];
  })));
}
