// One request: what was asked, what came of it, and why.

import { h, fill, update, button, dialog, oneLine, marked, problem, empty, say } from '../lib/dom.js';
import { get } from '../lib/api.js';
import { readDiagnostics } from '../lib/diagnostics.js';
import { clock, ms, ru, badge, statusClass, statusText, regionLabel, moment, span } from '../lib/words.js';

export const decoded = path => { try { return decodeURIComponent(path); } catch { return path; } };

const WHY = {
  '404/1002': 'This region has not got yet what the session has seen: another region is asked.',
  '403/3': 'This region takes no writes: the client looks for the one that does.',
  '410/1002': 'The partition has been split: the client reads the ranges anew.',
  '429/3200': 'More request units than are provisioned: the client waits and repeats.',
  '412/0': 'The item is of another version than the client has seen.',
  '409/0': 'There is an item of this id already.',
  '503/0': 'The region could not do it: the client goes to another one.',
  '408/0': 'It took too long: whether a write was applied is not known.',
  '400/1004': 'Planned by the client: the query needs more than one partition.',
  '401/0': 'The signature or token was refused.',
};
const EFFECTS = {
  status: 'answered in its place, and it was not carried out', throttle: 'answered as if the throughput were used up, and it was not carried out', slow: 'made it wait', hang: 'held it without an answer',
  refuse: 'cut its connection, and it was not carried out', 'drop-response': 'cut its connection after it was carried out', duplicate: 'had it carried out twice',
};
// These say how it ended, whatever its status means elsewhere.
const ENDS = ['status', 'throttle', 'refuse', 'drop-response'];

export const struckText = row => row.struck.map(one => `#${one.fault} ${one.outage ? 'outage' : one.effect}`).join(', ');
export function why(row) {
  const faults = row.struck.map(one => `${one.outage ? `${row.region ?? 'The region'} is down by fault ${one.fault}, which` : `Fault ${one.fault}`} ${EFFECTS[one.effect] ?? one.effect}.`);
  if (row.struck.some(one => ENDS.includes(one.effect))) return faults.join(' ');
  const status = row.status === null ? 'The connection was cut, or the client left.' : WHY[`${row.status}/${row.subStatus ?? 0}`] ?? (row.status === 429 ? WHY['429/3200'] : row.status === 304 ? 'Not modified.' : '');
  return [...faults, status].filter(Boolean).join(' ');
}

const fact = (name, value) => [h('dt', {}, name), h('dd', {}, value)];
function headers(title, text) {
  const lines = text.split('\n').filter(Boolean).map(line => { const at = line.indexOf(': '); return at < 0 ? [line, ''] : [line.slice(0, at), line.slice(at + 2)]; });
  return h('section', {}, h('h3', {}, title), lines.length ? h('dl', { class: 'facts mono' }, lines.map(([name, value]) => fact(name, marked(value)))) : h('p', { class: 'muted' }, 'Not known.'));
}

// The rest of a request is asked for when it is opened: headers are no part of the list. `row` is what the list has of it.
export async function showRequest(number, { row = null, signal, ofClient, ofFault, openOther }) {
  let found = row;
  let gone = null;
  try { found = await get(`requests/${number}`, signal); } catch (error) { if (error.name === 'AbortError') throw error; gone = error; }
  if (!found) { await dialog(`Request ${number}`, finish => [problem(gone), h('div', { class: 'row end' }, button('Close', () => finish(), { class: 'main' }))]); return; }
  const attempt = (one, finish) => h('tr', {}, h('td', {}, button(`${one.n}`, () => { finish(); openOther(one); }, { class: 'small' })), h('td', {}, `${one.at < found.at ? '−' : '+'}${span(Math.abs(one.at - found.at))}`), h('td', {}, badge(one.region ?? '')),
    h('td', {}, h('span', { class: statusClass(one.status) }, statusText(one.status, one.subStatus))), h('td', {}, ms(one.ms)), h('td', {}, struckText(one)));
  await dialog(`Request ${number}`, finish => h('div', { class: 'broad' },
    h('dl', { class: 'facts' }, fact('When', `${moment(found.at)} (${clock(found.at)})`), fact('Region', found.region ? regionLabel(found.region) : 'the account\'s own endpoint'),
      fact('What', h('code', {}, `${oneLine(found.method)} ${oneLine(decoded(found.path))}`)), fact('Status', h('span', { class: statusClass(found.status) }, statusText(found.status, found.subStatus))), why(found) ? fact('Why', why(found)) : null,
      found.struck.length ? fact('Struck by', h('span', { class: 'row' }, found.struck.map(one => button(`fault ${one.fault}: ${one.outage ? 'outage, ' : ''}${one.effect}`, () => { finish(); ofFault(one.fault); }, { class: 'small', title: 'Those that it has struck' })))) : null,
      fact('Charge', ru(found.charge)), fact('Took', ms(found.ms)), fact('Client', found.client ?? '–')),
    found.others?.length ? h('section', {}, h('h3', {}, 'Of the same operation'), h('div', { class: 'wide' }, h('table', {}, h('tbody', {}, found.others.map(one => attempt(one, finish)))))) : null,
    gone ? h('p', { class: 'note' }, `Its headers are not known: ${marked(gone.message)}.`) : h('div', { class: 'two' }, headers('Asked', found.asked), headers('Answered', found.answered)),
    h('div', { class: 'row end' }, button('Copy link', copyLink), button('Those of this client', () => { finish(); ofClient(found.client ?? ''); }), button('Close', () => finish(), { class: 'main' }))));
}

const copyLink = () => navigator.clipboard.writeText(location.href).then(() => say('Copied.'), () => say('The browser does not let this be copied.', 'bad'));

// What a driver says of an operation, as a timeline; and what was seen here of its attempts.
export async function showDiagnostics({ signal, openOther }) {
  const { requests: timeline } = await import('./query.js');
  const text = h('textarea', { class: 'item short', spellcheck: 'false', 'aria-label': 'Diagnostics, as JSON', placeholder: '{"operation":"Read","attempts":[…]}' });
  const shown = h('div', { role: 'status' });
  const seen = (operation, rows, finish) => h('section', { class: 'card' }, h('h3', {}, `Seen here of ${oneLine(operation)}`), rows.length ? h('div', { class: 'wide' }, h('table', {}, h('tbody', {}, rows.map(row => h('tr', {}, h('td', {}, button(`${row.n}`, () => { finish(); openOther(row); }, { class: 'small' })), h('td', {}, clock(row.at)), h('td', {}, badge(row.region ?? '')),
    h('td', {}, h('span', { class: statusClass(row.status) }, statusText(row.status, row.subStatus))), h('td', {}, ms(row.ms)), h('td', {}, struckText(row))))))) : empty('No request of it is kept: a region that refuses connections sees none.'));
  const show = async finish => {
    let found;
    try { found = readDiagnostics(text.value); } catch (error) { fill(shown, problem(error)); return; }
    update(shown, timeline(found));
    for (const one of found.filter(one => typeof one.activityId === 'string' && one.activityId).slice(0, 5)) {
      try { shown.append(seen(String(one.operation ?? 'it'), (await get(`requests?activity=${encodeURIComponent(one.activityId)}`, signal)).rows, finish)); } catch (error) { if (error.name !== 'AbortError') shown.append(problem(error)); return; }
    }
  };
  await dialog('Diagnostics of a driver', finish => h('div', { class: 'broad' }, h('p', {}, 'What a client prints of an operation, as JSON, is shown as a timeline. It stays in this page.'), text, shown,
    h('div', { class: 'row end' }, button('Close', () => finish()), button('Show', () => show(finish), { class: 'main' }))));
}
