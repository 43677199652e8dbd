// How a container is set up: facts, throughput, and all that the account lets be changed, as JSON.

import { h, fill, link, button, problem, say } from '../lib/dom.js';
import { get, post, put, at } from '../lib/api.js';
import { ru, group } from '../lib/words.js';
import { kept, keepDraft, forget } from '../lib/kept.js';
import { ofContainer } from '../lib/place.js';
import { drop, throughputField } from './data.js';

export default async function settings({ root, account, params, title, go, signal }) {
  const { database, container } = params;
  title(`Settings of ${container}`);
  const writes = !account.readOnly;
  // Each card is drawn anew alone, so that what is typed in another one stays.
  const [place, factsCard, throughputCard, partitionsCard, definitionCard] = Array.from({ length: 5 }, () => h('div'));
  const name = `definition ${JSON.stringify([database, container])}`;
  const path = `containers/${at(database, container)}`;
  fill(root, ofContainer(database, container, 'settings', writes ? [button('Delete container', () => drop(`container ${container}`, container, path, 'Everything in it is gone for good.', () => go('/data')), { class: 'danger' })] : []), place);
  async function load() {
    const found = await drawCosts();
    fill(factsCard, facts(found));
    fill(definitionCard, definition(found));
    fill(place, h('div', { class: 'two' }, h('div', {}, factsCard, throughputCard, partitionsCard), definitionCard));
  }
  // More throughput can split partitions.
  async function drawCosts() {
    const found = await get(path, signal);
    const parts = account.isEmulator ? await get(`manage/partitions/${at(database, container)}`, signal).catch(() => null) : null;
    fill(throughputCard, throughput(found));
    fill(partitionsCard, parts ? partitions(parts) : ranges(found));
    return found;
  }
  function facts({ properties, partitions: ranges_ }) {
    const row = (name, value) => [h('dt', {}, name), h('dd', {}, value)];
    const items = h('span', {}, button('Count', async () => { try { const found = await post(`query/${at(database, container)}`, { query: 'SELECT VALUE COUNT(1) FROM c' }); fill(items, `${group(found.rows[0].text)} (${ru(found.charge)})`); } catch (error) { say(error.message, 'bad'); } }, { class: 'small' }));
    const ttl = properties.defaultTtl;
    return h('section', { class: 'card' }, h('h2', {}, 'Facts'), h('dl', { class: 'facts' },
      row('Partition key', h('span', { class: 'mono' }, properties.partitionKey.paths.join(', '))),
      row('Partitions', ranges_.length), row('Items', items),
      row('Time to live', ttl === undefined ? 'for ever' : ttl === -1 ? 'as items say' : `${ttl} s`),
      row('Indexing', properties.indexingPolicy?.indexingMode ?? '–'), row('Composite indexes', properties.indexingPolicy?.compositeIndexes?.length ?? 0)));
  }
  function throughput(found) {
    const fields = throughputField();
    fields.set(found.throughput);
    const change = async () => {
      try { await put(`${path}/throughput`, fields.value()); say('The throughput is changed.', 'good'); await drawCosts(); } catch (error) { say(error.message, 'bad'); }
    };
    if (!found.throughput) return h('section', { class: 'card' }, h('h2', {}, 'Throughput'), h('p', { class: 'muted' }, found.throughputProblem ? `The account does not say: ${found.throughputProblem}` : 'It shares that of its database, or the account has none to set.'));
    return h('section', { class: 'card' }, h('h2', {}, 'Throughput'), fields.element, writes ? button('Change', () => fields.value() && change()) : null);
  }
  function ranges({ partitions: all }) {
    return h('section', { class: 'card' }, h('h2', {}, 'Partitions'), h('ul', { class: 'mono' }, all.map(range => h('li', {}, `${JSON.stringify(range)}`))));
  }
  function partitions({ partitions: all }) {
    return h('section', { class: 'card' }, h('div', { class: 'row' }, h('h2', {}, 'Partitions'), h('span', { class: 'push' }, link('Break or move them', `/regions?container=${encodeURIComponent(`${database}/${container}`)}`))), h('div', { class: 'wide' }, h('table', {},
      h('thead', {}, h('tr', {}, ['Id', 'Hashed keys', 'Writes', 'LSN'].map(name => h('th', { scope: 'col' }, name)))),
      h('tbody', {}, all.map(one => h('tr', {}, h('td', {}, one.id), h('td', { class: 'mono' }, `${one.min.slice(0, 9) || '0'}…${one.max.slice(0, 9)}`), h('td', {}, one.writer ?? 'every region'), h('td', {}, one.lsns.map(found => `${found.region} ${found.lsn}`).join(', '))))))));
  }
  function definition(found) {
    const textOf = ({ properties }) => JSON.stringify(Object.fromEntries(Object.entries(properties).filter(([member]) => !member.startsWith('_'))), null, 2);
    const text = textOf(found);
    const draft = [kept(name)].find(one => one && one.text !== text);
    // What is in the field began with the definition of this etag.
    const state = { text, etag: draft?.etag ?? found.etag };
    const look = () => {
      const isChanged = input.value !== state.text;
      if (isChanged) keepDraft(name, { text: input.value, etag: state.etag }); else forget(name);
      undo.disabled = !isChanged;
    };
    const input = h('textarea', { class: 'item', spellcheck: 'false', 'aria-label': 'The definition as JSON', readOnly: !writes, value: draft?.text ?? text, oninput: look });
    const [failed, note] = [h('div'), h('div')];
    if (draft) fill(note, h('p', { class: 'note' }, 'This is what you had not saved.'));
    const undo = button('Undo changes', () => { forget(name); load().catch(error => fill(failed, problem(error))); });
    const save = async () => {
      const sent = input.value;
      try {
        const saved = await put(path, { properties: JSON.parse(sent), etag: state.etag });
        Object.assign(state, { text: textOf(saved), etag: saved.etag });
        // What was typed since stays, as a change of what is saved.
        const isSent = input.value === sent;
        if (isSent) input.value = state.text;
        look();
        fill(failed);
        fill(note);
        fill(factsCard, facts({ ...found, ...saved }));
        say(isSent ? 'The definition is changed.' : 'The definition is changed. What you have typed meanwhile is not saved.', 'good');
      } catch (error) { fill(failed, problem(error.status === 412 ? new Error('Somebody has changed this definition since you read it. Copy your text, and undo your changes to read it again.') : error)); }
    };
    look();
    return h('section', { class: 'card' }, h('h2', {}, 'Definition'), h('p', { class: 'muted' }, 'Indexing, time to live, unique keys and so on. Name and partition key cannot be changed.'), note, input, failed,
      writes ? h('div', { class: 'row end' }, undo, button('Save', save, { class: 'main' })) : null);
  }
  try { await load(); } catch (error) { if (error.name !== 'AbortError') fill(place, problem(error, load)); }
}
