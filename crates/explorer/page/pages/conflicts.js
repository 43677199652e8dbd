// Writes that have lost against those of other regions, for somebody to decide.

import { h, fill, link, button, field, confirmed, problem, say, empty, marked, oneLine } from '../lib/dom.js';
import { get, post, at, query } from '../lib/api.js';
import { parse, memberText, tidy } from '../lib/json.js';
import { moment } from '../lib/words.js';
import { ofContainer } from '../lib/place.js';

function keyOf(text) {
  try { return JSON.parse(text); } catch { throw new Error(`${text || 'Nothing'} is not a partition key: it is JSON (a text needs quotes: "contoso").`); }
}

export default async function conflicts({ root, account, params, title, signal }) {
  const { database, container } = params;
  title(`Conflicts of ${container}`);
  const writes = !account.readOnly;
  const place = h('div');
  fill(root, ofContainer(database, container, 'conflicts', [button('Read again', load)]), place);
  const idOf = one => { try { return memberText(parse(one.text), 'id'); } catch { return null; } };
  async function load() {
    try {
      const found = await get(`conflicts/${at(database, container)}`, signal);
      fill(place, found.conflicts.length ? found.conflicts.map(card) : empty('No conflict is kept. There are some where several regions write, and the policy of the container does not resolve them.'));
    } catch (error) { if (error.name !== 'AbortError') fill(place, problem(error, load)); }
  }
  function card(one) {
    const id = idOf(one);
    const remove = async () => {
      // One of a deletion does not say of which item it is.
      const key = one.pk ? null : h('input', { class: 'mono', placeholder: '"contoso"', spellcheck: 'false' });
      const detail = key && field('Partition key of its item, as JSON', key);
      if (!await confirmed('Delete this conflict', 'What has lost is gone for good. The item stays as it is.', 'Delete', { detail })) return;
      try { await post(`conflicts/${at(database, container)}/delete`, { id: one.id, pk: one.pk ?? keyOf(key.value) }); say('The conflict is deleted.', 'good'); await load(); } catch (error) { say(error.message, 'bad'); }
    };
    return h('section', { class: 'card' }, h('div', { class: 'row' }, h('h2', {}, `${one.operation} ${oneLine(id ?? '')}`), h('span', { class: 'muted' }, moment(one.at)), h('span', { class: 'push row' },
      id ? link('The item as it is now', `/data/${at(database, container)}/item${query({ id, pk: JSON.stringify(one.pk) })}`) : null, writes ? button('Delete', remove, { class: 'small danger' }) : null)), one.text ? h('pre', { class: 'item-text', tabindex: 0, 'aria-label': 'The item that has lost' }, marked(tidy(one.text))) : null);
  }
  await load();
}
