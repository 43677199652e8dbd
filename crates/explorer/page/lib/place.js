// The head of a page about a container, with the way to all others about it.

import { h, link, marked } from './dom.js';
import { at } from './api.js';

const PAGES = [['items', 'Items', ''], ['settings', 'Settings', '/settings'], ['scripts', 'Scripts', '/scripts'], ['changes', 'Changes', '/changes'], ['conflicts', 'Conflicts', '/conflicts']];

export function ofContainer(database, container, here, actions) {
  const path = at(database, container);
  return [
    h('div', { class: 'head' }, h('div', {}, h('div', { class: 'crumbs' }, link('Data', '/data'), ` / ${marked(database)}`), h('h1', {}, marked(container))), h('div', { class: 'row' }, actions)),
    h('nav', { class: 'tabs', 'aria-label': 'Of this container' }, PAGES.map(([id, label, end]) => link(label, `/data/${path}${end}`, { 'aria-current': id === here ? 'page' : null })), link('Query', `/query/${path}`)),
  ];
}
