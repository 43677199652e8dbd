// The regions of an emulator: how they do, and every way to break and mend them. Each change shows its command.

import { h, fill, update, button, field, dialog, confirmed, problem, say, empty } from '../lib/dom.js';
import { get, at } from '../lib/api.js';
import { manage, record, recording, replay, script, stop } from '../lib/script.js';
import { command, shell } from '../lib/command.js';
import { regionLabel, regionNumber, setRegions, badge, group, ms, count } from '../lib/words.js';
import { download } from '../lib/transfer.js';
import { stateOf, trafficPlots } from './overview.js';
import { setFaults } from '../main.js';

const SECONDS = 60;
// Over how many of them a rate is taken.
const RECENT = 5;
let playing = null;

export default async function regions({ root, account, search, keep, title, every, signal }) {
  title('Regions');
  const writes = !account.readOnly;
  const state = { counted: null };
  const [cards, links, faults, traffic, partitions, trouble, step] = Array.from({ length: 7 }, () => h('div'));
  cards.className = 'regions';
  const chosen = h('select', { 'aria-label': 'Container', onchange: () => { keep({ container: chosen.value }); showPartitions().catch(failed); } });
  const recorder = button('Record', toggleRecord);
  fill(root, h('div', { class: 'head' }, h('h1', {}, 'Regions'), writes ? h('div', { class: 'row' }, recorder, button('Play', play), button('Script', showScript), button('Add region', addRegion), button('New fault', () => newFault({})), button('Mend all', mend, { title: 'Lift every fault, resume every link' })) : null),
    trouble, cards, step, h('div', { class: 'two' }, h('div', {}, traffic), h('div', {}, faults, links, h('section', { class: 'card' }, h('div', { class: 'row' }, h('h2', {}, 'Partitions'), h('span', { class: 'push' }, chosen)), partitions))));
  drawRecord();
  const failed = error => { if (error.name !== 'AbortError') fill(trouble, problem(error)); };

  const told = (method, path, body) => `Done: ${command(account.management, method, path, body)}`;
  // A change, its command for a terminal, and a line of the script if one is recorded.
  async function change(method, path, body) {
    try {
      const found = await manage(method, path, body, told(method, path, body));
      await refresh();
      return found;
    } catch (error) { if (error.name !== 'AbortError') say(error.message, 'bad'); return null; }
  }
  const post = (path, body) => change('POST', path, body);
  const put = body => change('PUT', 'links', body);

  function card(region, tps) {
    const [word, kind] = stateOf(region.state);
    const isDown = ['refuse', 'hang', 'unavailable'].includes(region.state);
    const path = `regions/${at(region.name)}`;
    const fact = (name, value) => [h('dt', {}, name), h('dd', {}, value)];
    return h('section', { class: `place top-${regionNumber(region.name)}${isDown ? ' down' : ''}`, 'data-key': region.name, 'aria-label': region.name },
      h('div', { class: 'row' }, badge(region.name), h('b', {}, region.name), h('span', { class: `${kind} push` }, word)),
      h('dl', {}, fact('Role', `${region.takesWrites ? 'takes writes' : 'reads'}${region.writesForbidden ? ', refuses them (403/3)' : ''}`), fact('Requests', `${group(region.requests)} · ${tps.recently ?? ''}${tps.rate ?? '–'} /s`),
        fact('P50 · P99', `${ms(tps.p50)} · ${ms(tps.p99)}`), fact('Charge', tps.charge === undefined ? '–' : `${tps.recently}${tps.charge.toFixed(1)} RU/s`), fact('Failed', tps.failed === undefined ? '–' : `${tps.least}${tps.failed} in ${SECONDS} s`), fact('Behind', region.behind ? `${count(region.behind, 'commit')}` : 'nothing')),
      writes ? h('div', { class: 'row' },
        isDown || region.state === 'slow' ? button('Up', () => post(`${path}/up`), { class: 'small main' }) : null,
        isDown ? null : [button('Down', () => takeDown(region), { class: 'small danger' }), button('Slow', () => slow(region), { class: 'small' })],
        region.takesWrites ? null : button('Fail over here', () => failover(region), { class: 'small' }),
        region.writesForbidden ? button('Allow writes', () => post(`${path}/allow-writes`), { class: 'small' }) : button('403/3', () => post(`${path}/forbid-writes`), { class: 'small', title: 'Refuse writes, as a region that does not take them' }),
        button('Remove', async () => { if (await confirmed(`Remove ${region.name}`, 'The region is taken out of the account, as Azure does it.', 'Remove')) change('DELETE', path); }, { class: 'small' })) : null);
  }
  async function takeDown(region) {
    const mode = h('select', {}, [['refuse', 'connections are refused'], ['hang', 'no answer at all'], ['unavailable', '503']].map(([value, name]) => h('option', { value }, name)));
    if (await dialog(`Take ${region.name} down`, finish => [h('p', {}, 'Nothing gets through to it, and it replicates nothing.'), field('What clients get', mode), h('div', { class: 'row end' }, button('Cancel', () => finish()), button('Take it down', () => finish(true), { class: 'danger' }))])) await post(`regions/${at(region.name)}/down`, { mode: mode.value });
  }
  async function line(heading, label, hint, value, action) {
    const input = h('input', { value, class: 'mono', spellcheck: 'false' });
    const go = finish => () => finish(input.value);
    return dialog(heading, finish => { input.addEventListener('keydown', event => { if (event.key === 'Enter') finish(input.value); }); return [field(label, input, hint), h('div', { class: 'row end' }, button('Cancel', () => finish()), button(action, go(finish), { class: 'main' }))]; });
  }
  async function slow(region) {
    const delay = await line(`Make ${region.name} slow`, 'Delay', '50ms, 10ms..80ms or p50=20ms,p99=400ms', 'p50=20ms,p99=400ms', 'Make it slow');
    if (delay) await post(`regions/${at(region.name)}/slow`, { delay });
  }
  async function failover(region) {
    const forced = h('input', { type: 'checkbox' });
    const yes = await dialog(`Fail over to ${region.name}`, finish => [h('p', {}, region.behind ? `It is ${count(region.behind, 'commit')} behind: if it is forced, these are lost.` : 'It has everything.'), h('label', { class: 'row' }, forced, 'forced: do not wait, lose what it has not got'), h('div', { class: 'row end' }, button('Cancel', () => finish()), button('Fail over', () => finish(true), { class: 'main' }))]);
    if (!yes) return;
    const moved = await post('failover', { to: region.name, forced: forced.checked });
    if (moved?.lost) say(`Moved; ${count(moved.lost, 'commit')} lost.`, 'bad');
  }
  async function addRegion() {
    const name = await line('Add a region', 'Name', 'As Azure names it', 'North Europe', 'Add');
    if (name) await post('regions', { name });
  }
  async function newFault(start) {
    const option = (value, name = value) => h('option', { value }, name);
    const effect = h('select', {}, ['status', 'slow', 'refuse', 'hang', 'drop-response', 'duplicate', 'throttle'].map(name => option(name)));
    effect.value = start.effect ?? 'status';
    const region = h('select', {}, option('', 'every region'), account.regions.map(name => option(name)));
    region.value = start.region ?? '';
    const operations = h('select', {}, option('', 'all'), option('read', 'reads'), option('write', 'writes'));
    const input = (value, placeholder) => h('input', { value, placeholder, class: 'mono' });
    const [status, sub, delay, retryAfter, container, partition, probability, number] = [input('503'), input('0'), input('100ms'), input('', 'none, or 2s'), input(start.container ?? '', 'all'), input(start.partition ?? '', 'all'), input('', '1'), input('', 'for ever')];
    const fields = { status: field('Status', status), sub: field('Sub-status', sub), delay: field('Delay', delay), retryAfter: field('Retry after', retryAfter) };
    const fit = () => { fields.status.hidden = fields.sub.hidden = effect.value !== 'status'; fields.delay.hidden = effect.value !== 'slow'; fields.retryAfter.hidden = !['status', 'throttle'].includes(effect.value); };
    effect.addEventListener('change', fit);
    fit();
    const wrong = h('div');
    await dialog('New fault', finish => [h('div', { class: 'row' }, field('Effect', effect), fields.status, fields.sub, fields.delay, fields.retryAfter), h('div', { class: 'row' }, field('Region', region), field('Requests', operations)), h('div', { class: 'row' }, field('Container', container, 'DATABASE/CONTAINER'), field('Partition', partition)), h('div', { class: 'row' }, field('Probability', probability), field('How often', number)), wrong,
      h('div', { class: 'row end' }, button('Cancel', () => finish()), button('Add', async () => {
        const body = { effect: effect.value };
        if (effect.value === 'status') Object.assign(body, { status: Number(status.value), subStatus: Number(sub.value) });
        if (effect.value === 'slow') body.delay = delay.value;
        if (['status', 'throttle'].includes(effect.value) && retryAfter.value) body.retryAfter = retryAfter.value;
        for (const [name, from, read] of [['region', region, String], ['operations', operations, String], ['container', container, String], ['partition', partition, String], ['probability', probability, Number], ['count', number, Number]]) if (from.value) body[name] = read(from.value);
        try { await manage('POST', 'faults', body, told('POST', 'faults', body)); finish(true); await refresh(); } catch (error) { fill(wrong, problem(error)); }
      }, { class: 'main' }))]);
  }
  function mend() { return change('DELETE', 'faults'); }

  // Where one region takes all writes, what another one lacks waits on the link between the two.
  function backlog(one, { regions: list, multiWrite, partitionFailover }) {
    if (multiWrite || partitionFailover || list.find(region => region.takesWrites)?.name !== one.from) return '';
    const behind = list.find(region => region.name === one.to)?.behind;
    return behind ? `${group(behind)} behind` : '';
  }
  function drawLinks(all, known) {
    update(links, all.length ? h('section', { class: 'card' }, h('h2', {}, 'Replication'), h('div', { class: 'wide' }, h('table', {}, h('tbody', {}, all.map(one => h('tr', { 'data-key': `${one.from} ${one.to}` }, h('td', {}, h('span', { class: 'row' }, badge(one.from), '→', badge(one.to), `${one.from} to ${one.to}`)), h('td', {}, one.lag === 'none' ? 'no lag' : `lag ${one.lag}`), h('td', { class: one.paused ? 'bad' : 'good' }, one.paused ? '✂ paused' : '● goes on'), h('td', {}, backlog(one, known)),
      writes ? h('td', {}, h('div', { class: 'row' }, button('Lag', async () => { const lag = await line(`Lag from ${one.from} to ${one.to}`, 'Lag', 'none, 50ms or 10ms..80ms', one.lag, 'Set'); if (lag) put({ from: one.from, to: one.to, lag }); }, { class: 'small' }), button(one.paused ? 'Resume' : 'Pause', () => put({ from: one.from, to: one.to, paused: !one.paused }), { class: 'small' }))) : null)))))) : null);
  }
  function drawFaultList(found) {
    setFaults(found);
    const member = (name, value) => (value === null || value === undefined ? null : `${name} ${value}`);
    update(faults, h('section', { class: 'card' }, h('h2', {}, 'Faults in force'), found.faults.length ? h('div', { class: 'wide' }, h('table', {}, h('thead', {}, h('tr', {}, ['#', 'Effect', 'Where', 'Struck'].map(name => h('th', { scope: 'col' }, name)))), h('tbody', {}, found.faults.map(one => h('tr', { 'data-key': one.id }, h('td', {}, one.id),
      h('td', {}, [one.effect, member('', one.status && `${one.status}/${one.subStatus ?? 0}`), member('', one.delay), member('retry after', one.retryAfter), member('p', one.probability)].filter(Boolean).join(' ')), h('td', {}, [one.region ?? 'every region', one.operations, one.container, member('partition', one.partition)].filter(Boolean).join(', ')), h('td', {}, one.hits ?? one.struck ?? '–'),
      writes ? h('td', {}, button('Lift', () => change('DELETE', `faults/${one.id}`), { class: 'small' })) : null))))) : empty('Nothing is broken.')));
  }
  async function showPartitions() {
    if (!chosen.value) { fill(partitions, empty('No container.')); return; }
    const [path, container] = [chosen.value, chosen.selectedOptions[0].textContent];
    const found = await get(`manage/partitions/${path}`, signal);
    // Another one may have been chosen meanwhile.
    if (chosen.value !== path) return;
    update(partitions, h('div', { class: 'wide' }, h('table', {}, h('thead', {}, h('tr', {}, ['Id', 'Writes', 'LSN'].map(name => h('th', { scope: 'col' }, name)))), h('tbody', {}, found.partitions.map(one => { const ahead = Math.max(...one.lsns.map(found => found.lsn)); return h('tr', { 'data-key': one.id }, h('td', {}, one.id), h('td', {}, one.writer ? regionLabel(one.writer) : 'every region'), h('td', {}, h('span', { class: 'row' }, one.lsns.map(lsn => h('span', { class: 'inline' }, badge(lsn.region), `${lsn.lsn}${lsn.lsn < ahead ? ` (−${ahead - lsn.lsn})` : ''}`)))),
      writes ? h('td', {}, h('div', { class: 'row' }, button('Fail', () => newFault({ container, partition: one.id, region: account.regions[0] }), { class: 'small' }), button('Split', async () => { if (await confirmed(`Split partition ${one.id}`, `Partition ${one.id} of ${container} is split in two. That cannot be undone.`, 'Split')) post('partitions/split', { container, partition: one.id }); }, { class: 'small' }), account.regions.length > 1 ? button('Move writes', () => moveWrites(container, one), { class: 'small' }) : null)) : null); })))));
  }
  async function moveWrites(container, one) {
    const to = h('select', {}, account.regions.filter(name => name !== one.writer).map(name => h('option', { value: name }, name)));
    const forced = h('input', { type: 'checkbox' });
    const yes = await dialog(`Move the writes of partition ${one.id}`, finish => [field('To', to, 'The account must have been started with --partition-failover'), h('label', { class: 'row' }, forced, 'forced: do not wait, lose what it has not got'), h('div', { class: 'row end' }, button('Cancel', () => finish()), button('Move', () => finish(true), { class: 'main' }))]);
    if (!yes) return;
    const moved = await post('partitions/failover', { container, partition: one.id, to: to.value, forced: forced.checked });
    if (moved?.lost) say(`Moved; ${count(moved.lost, 'commit')} lost.`, 'bad');
  }

  function toggleRecord() {
    if (recording()) say(`${count(stop().length, 'line')} recorded: Play repeats them.`, 'good');
    else if (!record()) say('The browser has no room left to record.', 'bad');
    drawRecord();
  }
  function drawRecord() { const now = recording(); fill(recorder, now ? `■ Stop (${now.lines.length})` : '● Record'); }
  async function play() {
    if (playing) { playing.abort(); return; }
    const lines = script();
    if (!lines.length) { say('Nothing is recorded: Record keeps what you change here.'); return; }
    playing = new AbortController();
    const { signal: stopped } = playing;
    const began = Date.now();
    await replay(lines, async (one, n, path) => {
      await new Promise(resolve => { const timer = setTimeout(resolve, Math.max(0, began + one.at - Date.now())); stopped.addEventListener('abort', () => { clearTimeout(timer); resolve(); }); });
      fill(step, stopped.aborted ? null : h('p', { class: 'note' }, `Line ${n + 1} of ${lines.length}: `, h('code', {}, command(account.management, one.method, path, one.body)), ' ', button('Stop', () => playing?.abort(), { class: 'small' })));
      return !stopped.aborted;
    }, change);
    playing = null;
    fill(step);
  }
  function showScript() {
    const lines = script();
    const text = shell(account.management, lines);
    dialog('What is recorded', finish => [lines.length ? h('pre', { class: 'item-text', tabindex: 0 }, text) : empty('Nothing yet: Record keeps what you change here.'), h('div', { class: 'row end' }, lines.length ? button('Download', () => download('regions.sh', `#!/bin/sh\nset -e\n${text}`, 'text/x-sh')) : null, button('Close', () => finish(), { class: 'main' }))]);
  }

  // Of each region what is known: from the requests or, where these are not at hand, from how many there have been.
  function rates(found, list) {
    const before = state.counted;
    const now = performance.now();
    if (!before || now - before.at > 500) {
      const rate = ({ name, requests }) => { const more = requests - before?.of.get(name); return more >= 0 ? Math.round(more * 1000 / (now - before.at)) : undefined; };
      state.counted = { at: now, of: new Map(list.map(region => [region.name, region.requests])), rates: new Map(list.map(region => [region.name, { rate: rate(region) }])) };
    }
    if (!found) return state.counted.rates;
    // More may have come than is kept: then the first seconds are not known, and nothing is as little as it seems.
    const first = Math.min(...found.regions.map(one => one.seconds.findIndex(Boolean)));
    const [least, recently] = [found.complete ? '' : '≥ ', found.complete || first < SECONDS - RECENT ? '' : '≥ '];
    const rates = new Map(list.map(region => [region.name, { rate: 0, charge: 0, failed: 0, least, recently }]));
    for (const one of found.regions) {
      const all = one.seconds.filter(Boolean);
      const recent = one.seconds.slice(-RECENT).filter(Boolean);
      const last = all.at(-1);
      const sum = (of, pick) => of.reduce((total, second) => total + pick(second), 0);
      rates.set(one.region, { rate: Math.round(sum(recent, second => second.count) / RECENT), charge: sum(recent, second => second.charge) / RECENT, p50: last?.p50, p99: last?.p99, failed: sum(all, second => second.failed), least, recently });
    }
    return rates;
  }
  async function refresh() {
    const [list, between, broken, found] = await Promise.all([get('manage/regions', signal), get('manage/links', signal), get('manage/faults', signal), account.hasRequests ? get(`traffic?seconds=${SECONDS}`, signal) : null]);
    fill(trouble);
    account.regions = list.regions.map(region => region.name);
    setRegions(account.regions);
    const tps = rates(found, list.regions);
    update(cards, list.regions.map(region => card(region, tps.get(region.name))));
    drawLinks(between.links, list);
    drawFaultList(broken);
    if (found) update(traffic, trafficPlots(found, SECONDS));
    await showPartitions();
  }
  const { databases } = await get('databases', signal);
  fill(chosen, databases.flatMap(one => one.containers.map(container => h('option', { value: at(one.id, container.id), selected: search.get('container') === `${one.id}/${container.id}` }, `${one.id}/${container.id}`))));
  chosen.hidden = !chosen.options.length;
  window.addEventListener('faults', () => refresh().catch(failed), { signal });
  window.addEventListener('recorded', drawRecord, { signal });
  await every(1000, () => refresh().catch(failed));
}
