// What there is, how much goes on, and what is out of order.

import { h, fill, update, link, problem, empty } from '../lib/dom.js';
import { get, at } from '../lib/api.js';
import { regionLabel, regionNumber, count, group, ms } from '../lib/words.js';
import { plot } from '../lib/plot.js';

const STATES = { up: ['● up', 'good'], slow: ['◐ slow', 'warn'], refuse: ['✖ refuses', 'bad'], hang: ['✖ hangs', 'bad'], unavailable: ['✖ 503', 'bad'] };
export const stateOf = state => STATES[state] ?? [state, ''];

export default async function overview({ root, account, title, every }) {
  title('Overview');
  const [tiles, regions, traffic, data] = ['tiles', '', '', ''].map(name => h('div', { class: name }));
  fill(root, h('div', { class: 'head' }, h('h1', {}, account.isEmulator ? 'Local account' : account.id), h('span', { class: 'muted mono' }, account.endpoint)),
    tiles, h('div', { class: 'two' }, h('div', {}, regions, traffic), data));
  await showData(tiles, data, account);
  if (account.isEmulator) {
    await every(2000, async () => {
      const found = await get('manage/regions');
      update(regions, h('section', { class: 'card' }, h('h2', {}, 'Regions'), h('div', { class: 'wide' }, h('table', {}, h('tbody', {}, found.regions.map(region => h('tr', {},
        h('td', {}, regionLabel(region.name)), h('td', {}, h('span', { class: stateOf(region.state)[1] }, stateOf(region.state)[0])),
        h('td', {}, region.takesWrites ? 'takes writes' : 'reads'), h('td', { class: 'end' }, count(region.requests, 'request')))))))));
    });
  } else {
    fill(regions, h('section', { class: 'card' }, h('h2', {}, 'Regions'), h('ul', {}, account.regions.map(name => h('li', {}, regionLabel(name), account.writeRegions.includes(name) ? ' takes writes' : '')))));
  }
  if (account.hasRequests) await every(2000, async () => update(traffic, trafficPlots(await get('traffic?seconds=60'), 60)));
}

export function trafficPlots(found, seconds) {
  if (!found.regions.length) return h('section', { class: 'card' }, h('h2', {}, 'Traffic'), empty(`No request in the last ${seconds} seconds.`));
  const series = pick => found.regions.map(one => ({ name: one.region || 'account', number: one.region ? regionNumber(one.region) : 9, values: one.seconds.map(pick) }));
  const ends = [`${seconds} s ago`, 'now'];
  const sum = pick => found.regions.flatMap(one => one.seconds).filter(Boolean).reduce((all, second) => all + pick(second), 0);
  return [
    plot({ title: 'Requests per second', sentence: `${sum(second => second.count)} requests in ${seconds} seconds, ${sum(second => second.failed)} of them failed.`, series: series(second => second?.count ?? 0), unit: value => group(value), ends }),
    plot({ title: 'Latency, P99', sentence: 'Of each second, in milliseconds.', series: series(second => second?.p99 ?? null), unit: ms, ends }),
    found.complete ? null : h('p', { class: 'muted' }, 'More came in than is kept: the first of these seconds are not complete.'),
  ];
}

async function showData(tiles, data, account) {
  try {
    const { databases } = await get('databases');
    const containers = databases.flatMap(database => database.containers.map(container => ({ ...container, database: database.id })));
    fill(tiles,
      h('a', { class: 'tile', href: '/data' }, h('b', {}, databases.length), h('span', {}, databases.length === 1 ? 'database' : 'databases')),
      h('a', { class: 'tile', href: '/data' }, h('b', {}, containers.length), h('span', {}, containers.length === 1 ? 'container' : 'containers')),
      h('a', { class: 'tile', href: account.isEmulator ? '/regions' : '/' }, h('b', {}, account.regions.length), h('span', {}, account.regions.length === 1 ? 'region' : 'regions')));
    fill(data, h('section', { class: 'card' }, h('h2', {}, 'Containers'), containers.length ? h('div', { class: 'wide' }, h('table', {}, h('tbody', {}, containers.slice(0, 50).map(one => h('tr', {},
      h('td', { class: 'break' }, link(`${one.database}/${one.id}`, `/data/${at(one.database, one.id)}`)),
      h('td', { class: 'mono' }, one.paths.join(', ')),
      h('td', { class: 'end' }, link('Query', `/query/${at(one.database, one.id)}`))))))) : empty('The account is empty. ', link('Make a database', '/data'), '.'),
    containers.length > 50 ? h('p', {}, link(`All ${containers.length}`, '/data')) : null));
  } catch (error) { fill(data, problem(error)); }
}

