// One orchestration: what it is, what happened when, what it has started, and how to push it on.

import { h, fill, update, link, button, field, dialog, confirmed, problem, say, tabs, empty, oneLine, marked } from '../lib/dom.js';
import { get, post, query, segment } from '../lib/api.js';
import { moment, span, bytes, count, clock } from '../lib/words.js';
import { grid } from '../lib/grid.js';
import { tidy } from '../lib/json.js';
import { placeOf, statusLabel } from './orchestrations.js';

const DRAWN = 400;
const ENDED = ['Completed', 'Failed'];
// What a question is, how its answers are called, and the class of its bar.
const ASKED = {
  ActivityScheduled: ['activity', ''], SubOrchestrationScheduled: ['child', 'child'], TimerCreated: ['timer', 'timer'],
  ExternalSubscribed: ['waits for event', 'event'], QueueSubscribed: ['reads queue', 'event'],
};
const TOLD = {
  OrchestrationStarted: 'started', OrchestrationCompleted: 'completed', OrchestrationFailed: 'failed', OrchestrationContinuedAsNew: 'goes on as new', OrchestrationCancelRequested: 'cancel asked for',
  ActivityScheduled: 'activity', ActivityCompleted: 'activity done', ActivityFailed: 'activity failed', ActivityCancelRequested: 'activity cancelled', TimerCreated: 'timer', TimerFired: 'timer fired',
  ExternalSubscribed: 'waits for event', ExternalEvent: 'event', ExternalSubscribedCancelled: 'waits no more', QueueSubscribed: 'reads queue', QueueEventDelivered: 'queue message', QueueSubscriptionCancelled: 'reads no more',
  OrchestrationChained: 'starts another', SubOrchestrationScheduled: 'child', SubOrchestrationCompleted: 'child done', SubOrchestrationFailed: 'child failed', SubOrchestrationCancelRequested: 'child cancelled',
  CustomStatusUpdated: 'status', KeyValueSet: 'key set', KeyValueCleared: 'key cleared', KeyValuesCleared: 'all keys cleared',
};
const kindOf = event => event.type ?? '?';
const isFailure = event => /Failed$/.test(kindOf(event));
const dataOf = event => { const data = event.input ?? event.output ?? event.result ?? event.data ?? event.reason ?? event.status ?? event.value ?? event.details; return data === undefined || data === null ? '' : typeof data === 'string' ? data : JSON.stringify(data); };
const nameOf = (event, byId) => { return event.name ?? event.key ?? (event.source_event_id ? nameOf(byId.get(event.source_event_id) ?? {}, byId) : '') ?? ''; };

export default async function instance({ root, account, params, search, keep, title, go, signal, every }) {
  const id = params.instance;
  title(id);
  const writes = !account.readOnly;
  const place = placeOf(search);
  const at = (members = {}) => query({ ...place, ...members });
  const path = `durable/instance/${segment(id)}`;
  const state = { view: search.get('view') ?? 'gantt', run: search.get('run') ?? '', failed: search.get('only') === 'failed', known: null, events: [], seen: '', list: null };
  const [facts, bar, body, trouble] = [h('div'), h('div', { class: 'row' }), h('div'), h('div')];
  const to = name => link(oneLine(name), `/orchestrations/${segment(name)}${at()}`);
  fill(root, h('div', { class: 'head' }, h('div', {}, h('div', { class: 'crumbs' }, link('Orchestrations', `/orchestrations${at()}`), ` / ${place.database}/${place.container}${place.hub ? ` / ${place.hub}` : ''}`), h('h1', {}, marked(id))),
    writes ? h('div', { class: 'row' }, button('Raise event', () => raise('')), button('Cancel it', cancel), button('Prune', prune), button('Terminate', terminate, { class: 'danger', title: 'Delete it even if it runs' }), button('Delete', remove, { class: 'danger' })) : null), trouble, facts, bar, body);

  function drawFacts(known) {
    const row = (name, value) => (value === null || value === undefined || value === '' ? null : [h('dt', {}, name), h('dd', {}, value)]);
    const text = value => (value ? h('pre', {}, marked(tidy(value)).slice(0, 20000)) : null);
    const values = Object.entries(known.values ?? {});
    update(facts, h('div', { class: 'two' }, h('section', { class: 'card' }, h('dl', { class: 'facts' }, row('Orchestration', `${known.orchestration} ${known.version}`), row('Status', statusLabel(known.status)), row('Custom status', text(known.customStatus)), row('Began', moment(known.createdAt)), row('Last turn', moment(known.updatedAt)), row('Started by', known.parent ? to(known.parent) : null), row('History', known.historyBytes ? bytes(known.historyBytes) : null), row('Output', text(known.output)))),
      h('div', {}, values.length ? h('section', { class: 'card' }, h('h2', {}, 'Values'), h('dl', { class: 'facts' }, values.map(([name, value]) => row(oneLine(name), text(value) ?? '""')))) : null, known.executionCount > 1 ? executions(known) : null)));
  }
  function executions(known) {
    return h('section', { class: 'card' }, h('h2', {}, 'Executions'), h('div', { class: 'wide' }, h('table', {}, h('tbody', {}, known.executions.map(one => h('tr', {}, h('td', {}, button(`${one.execution}`, () => { state.run = String(one.execution); keep({ run: state.run }); load(); }, { class: 'small' })), h('td', {}, statusLabel(one.status)), h('td', {}, moment(one.startedAt)), h('td', {}, one.completedAt ? span(one.completedAt - one.startedAt) : '–'), h('td', {}, count(one.events, 'event'))))))), known.executionCount > known.executions.length ? h('p', { class: 'muted' }, `and ${known.executionCount - known.executions.length} older`) : null);
  }
  const index = () => new Map(state.events.map(event => [event.event_id, event]));
  function draw() {
    const views = [['gantt', 'Timeline'], ['sequence', 'Sequence'], ['table', 'Table'], ['tree', 'Tree']];
    const only = h('input', { type: 'checkbox', checked: state.failed, onchange: event => { state.failed = event.target.checked; keep({ only: state.failed ? 'failed' : '' }); draw(); } });
    update(bar, tabs(state.view, views, view => { state.view = view; keep({ view: view === 'gantt' ? '' : view }); draw(); }), h('span', { class: 'push' }, h('label', { class: 'inline' }, only, 'failed only')), h('span', { class: 'muted' }, `execution ${state.shownRun}, ${count(state.events.length, 'event')}`));
    if (state.view === 'tree') { tree(); return; }
    const byId = index();
    update(body, state.view === 'gantt' ? gantt(byId) : state.view === 'sequence' ? sequence(byId) : table(byId));
  }
  // Pairs of a question and its answer; what waits and what failed comes first.
  function gantt(byId) {
    const answers = new Map(state.events.filter(event => event.source_event_id).map(event => [event.source_event_id, event]));
    const start = state.events[0]?.timestamp_ms ?? 0;
    const ended = [...ENDED, 'ContinuedAsNew'].includes(state.known.status) || String(state.known.execution) !== String(state.shownRun);
    const end = Math.max(start + 1, ended ? state.events.at(-1)?.timestamp_ms ?? 0 : Date.now());
    const rank = row => (!row.answer && !ended ? 0 : row.failed ? 1 : 2);
    const rows = state.events.filter(event => ASKED[kindOf(event)]).map(event => { const answer = answers.get(event.event_id); return { event, answer, failed: answer && isFailure(answer) }; })
      .filter(row => !state.failed || row.failed).map((row, n) => [row, n]).sort(([a, n], [b, m]) => rank(a) - rank(b) || n - m).map(([row]) => row);
    if (!rows.length) return empty(state.failed ? 'Nothing has failed.' : 'It has asked for nothing yet.');
    const busy = collapse(rows, start, end);
    return h('section', { class: 'card' }, h('p', { class: 'muted' }, `From scheduled to recorded, over ${span(end - start)}${busy.idle ? `; ${span(busy.idle)} in which nothing happened are left out` : ''}. What waits and what failed is first.`), h('div', { class: 'bars' }, rows.slice(0, DRAWN).map(row => {
      const [what, kind] = ASKED[kindOf(row.event)];
      const until = row.answer?.timestamp_ms ?? end;
      const [left, right] = [busy.place(row.event.timestamp_ms), busy.place(until)];
      const bar_ = h('i', { class: `${kind}${row.failed ? ' failed' : ''}${!row.answer && !ended ? ' open' : ''}` });
      bar_.style.left = `${left * 100}%`;
      bar_.style.width = `${(right - left) * 100}%`;
      const waits = !row.answer && !ended;
      const name = nameOf(row.event, byId);
      const child = row.event.instance;
      return [h('div', { class: 'label', title: `${what} ${name}` }, h('span', { class: 'muted' }, `${what} `), child ? to(child.startsWith?.('sub::') ? `${id}::${child}` : child) : oneLine(name)),
        h('div', { class: 'row' }, h('div', { class: 'track grow', onclick: () => showEvent(row.answer ?? row.event, byId) }, bar_, h('span', {}, waits ? `waits for ${span(until - row.event.timestamp_ms)}` : row.answer ? span(until - row.event.timestamp_ms) : 'no answer')), waits && kindOf(row.event) === 'ExternalSubscribed' && writes ? button('Raise', () => raise(name), { class: 'small' }) : null)];
    })), rows.length > DRAWN ? h('p', { class: 'muted' }, `The first ${DRAWN} of ${rows.length}; the table has all.`) : null);
  }
  function sequence(byId) {
    const start = state.events[0]?.timestamp_ms ?? 0;
    const shown = state.events.filter(event => !state.failed || isFailure(event)).slice(0, DRAWN);
    if (!shown.length) return empty('Nothing has failed.');
    return h('section', { class: 'card' }, h('ol', { class: 'nest root' }, shown.map(event => {
      const isAnswer = Boolean(event.source_event_id);
      return h('li', {}, h('button', { type: 'button', class: `plain${isFailure(event) ? ' bad' : ''}`, onclick: () => showEvent(event, byId) }, `+${span(event.timestamp_ms - start)}  ${isAnswer ? '←' : ASKED[kindOf(event)] ? '→' : '·'} ${TOLD[kindOf(event)] ?? kindOf(event)} ${oneLine(nameOf(event, byId))}`), h('span', { class: 'muted mono' }, ` ${oneLine(dataOf(event)).slice(0, 120)}`));
    })), state.events.length > DRAWN ? h('p', { class: 'muted' }, `The first ${DRAWN}; the table has all.`) : null);
  }
  function table(byId) {
    const start = state.events[0]?.timestamp_ms ?? 0;
    state.list ??= grid({ label: 'Events', keyOf: event => event.event_id, onOpen: event => showEvent(event, index()) });
    const { list } = state;
    list.columns([
      { name: 'n', label: '#', width: '4rem', cell: event => event.event_id }, { name: 'at', label: 'After', width: '7rem', cell: event => `+${span(event.timestamp_ms - start)}` },
      { name: 'what', label: 'Event', width: '11rem', cell: event => h('span', { class: isFailure(event) ? 'bad' : '' }, TOLD[kindOf(event)] ?? kindOf(event)) }, { name: 'name', label: 'Name', width: 'minmax(9rem, 1fr)', cell: event => oneLine(nameOf(event, byId)) },
      { name: 'took', label: 'Took', width: '6.5rem', cell: event => (event.source_event_id && byId.get(event.source_event_id) ? span(event.timestamp_ms - byId.get(event.source_event_id).timestamp_ms) : '') }, { name: 'data', label: 'Data', width: 'minmax(12rem, 2fr)', cell: event => oneLine(dataOf(event)).slice(0, 300) } ]);
    list.set(state.events.filter(event => !state.failed || isFailure(event)));
    return list.element;
  }
  async function tree() {
    try {
      const { instances } = await get(`${path}/tree${at()}`, signal);
      const below = parent => instances.slice(1).filter(one => one.parent === parent);
      const node = (one, depth) => h('li', {}, to(one.instance), ' ', h('span', { class: 'muted' }, one.orchestration ?? ''), ' ', statusLabel(one.status), depth < 50 && below(one.instance).length ? h('ul', { class: 'nest' }, below(one.instance).map(child => node(child, depth + 1))) : null);
      if (state.view === 'tree') update(body, h('section', { class: 'card' }, instances.length ? h('ul', { class: 'nest root' }, node(instances[0], 0)) : empty('It is not there any more.')));
    } catch (error) { if (error.name !== 'AbortError') fill(body, problem(error)); }
  }
  function showEvent(event, byId) {
    const asked = byId.get(event.source_event_id);
    const part = one => h('dl', { class: 'facts' }, h('dt', {}, 'Event'), h('dd', {}, `${one.event_id}: ${TOLD[kindOf(one)] ?? kindOf(one)} ${oneLine(nameOf(one, byId))}`), h('dt', {}, 'When'), h('dd', {}, `${moment(one.timestamp_ms)} (${clock(one.timestamp_ms)})`), dataOf(one) ? [h('dt', {}, 'Data'), h('dd', {}, h('pre', { class: 'item-text', tabindex: 0 }, marked(tidy(dataOf(one))).slice(0, 200000)))] : null);
    dialog(`Event ${event.event_id}`, finish => h('div', { class: 'broad' }, asked ? [part(asked), h('hr')] : null, part(event), h('div', { class: 'row end' }, button('Close', () => finish(), { class: 'main' }))));
  }
  async function change(verb, members, done) {
    try { const result = await post(`durable/${verb}${at()}`, members); if (result.failed?.length) throw new Error(result.failed[0].message); say(done, 'good'); return result; } catch (error) { say(error.message, 'bad'); return null; }
  }
  async function raise(name) {
    const [event, data, queue] = [h('input', { value: name }), h('textarea', { rows: 4, class: 'mono', placeholder: 'as the orchestration reads it: JSON where it expects a type' }), h('input', { type: 'checkbox' })];
    if (await dialog('Raise an event', finish => [field('Event', event), field('Data', data), h('label', { class: 'row' }, queue, 'into the queue of this name'), h('div', { class: 'row end' }, button('Cancel', () => finish()), button('Raise', () => event.value && finish(true), { class: 'main' }))])) await change('raise', { instance: id, event: event.value, data: data.value, queue: queue.checked }, `${event.value} is on its way.`);
  }
  async function cancel() {
    const reason = h('input', { value: 'cancelled by hand' });
    if (await dialog(`Cancel ${id}`, finish => [h('p', {}, 'It ends with its next turn.'), field('Reason', reason), h('div', { class: 'row end' }, button('Back', () => finish()), button('Cancel it', () => finish(true), { class: 'danger' }))])) await change('cancel', { instances: [id], reason: reason.value }, 'It ends with its next turn.');
  }
  async function remove() {
    if (await confirmed(`Delete ${id}`, 'It is deleted with all that it has started, for good. One that runs is kept.', 'Delete') && await change('delete', { instances: [id] }, `${id} is deleted.`)) go(`/orchestrations${at()}`);
  }
  async function terminate() {
    if (await confirmed(`Terminate ${id}`, 'It is deleted with all that it has started, for good, even if it runs: what it was about to do is not done. Cancel lets it end by itself.', 'Terminate') && await change('delete', { instances: [id], force: true }, `${id} is terminated.`)) go(`/orchestrations${at()}`);
  }
  async function prune() {
    if (await confirmed(`Prune ${id}`, 'Its past executions are removed for good; the current one stays.', 'Prune') && await change('prune', { instance: id, keepLast: 1 }, 'Its past executions are removed.')) await load();
  }
  // What there is now, and of the history what is not known yet.
  async function load() {
    const known = await get(`${path}${at()}`, signal);
    const run = state.run || String(known.execution);
    const events = () => (String(state.shownRun) === run ? state.events : []);
    const history = await get(`${path}/history${at({ run, after: events().at(-1)?.event_id })}`, signal);
    // Another execution was chosen meanwhile.
    if (run !== (state.run || String(known.execution))) return;
    fill(trouble);
    const last = events().at(-1)?.event_id ?? 0;
    Object.assign(state, { known, seen: pulseOf({ ...known, events: known.executions[0]?.events }), events: [...events(), ...history.events.filter(event => event.event_id > last)], shownRun: history.run });
    drawFacts(known);
    draw();
  }
  // An instance that has ended is as it is: nothing of it is read again. One that runs is read when it has had a turn.
  async function follow() {
    if (ENDED.includes(state.known.status)) return;
    const pulse = await get(`${path}/pulse${at()}`, signal);
    fill(trouble);
    if (pulseOf(pulse) !== state.seen) await load(); else if (['gantt', 'tree'].includes(state.view)) draw();
  }
  await load();
  await every(2000, async () => { try { await follow(); } catch (error) { if (error.name !== 'AbortError') fill(trouble, problem(error)); } });
}

const pulseOf = ({ status, execution, updatedAt, events }) => JSON.stringify([status, execution, updatedAt, events]);

// Time without an open question is left out where it is long, so that the rest can be seen.
function collapse(rows, start, end) {
  const spans = rows.map(row => [row.event.timestamp_ms, row.answer?.timestamp_ms ?? end]).sort(([a], [b]) => a - b);
  const gaps = [];
  let until = start;
  for (const [from, to] of spans) { if (from - until > (end - start) / 20) gaps.push([until, from]); until = Math.max(until, to); }
  const idle = gaps.reduce((all, [from, to]) => all + to - from, 0);
  const length = Math.max(1, end - start - idle);
  return { idle, place: time => (time - start - gaps.reduce((all, [from, to]) => all + Math.max(0, Math.min(time, to) - from), 0)) / length };
}
