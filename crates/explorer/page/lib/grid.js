// A table of any length: only the rows that are seen are elements.

import { h, update } from './dom.js';

const HEIGHT = 28;
const SPARE = 8;
// A press that lasts longer holds nothing back any more.
const PRESS = 3000;
// A browser makes nothing taller than some 16 million pixels. Rows that would be are scrolled through in larger steps.
const TALLEST = 15000000;
let grids = 0;

// columns: [{name, label, cell(row) -> node or text, width?, sort?, end?}]
export function grid({ label, columns, onOpen, onSort, sortedBy, onNearEnd, selectable = false, onSelect, keyOf = (row, n) => n }) {
  let rows = [];
  let cursor = -1;
  let drawn = [-1, -1];
  let shift = 0;
  let elements = new Map();
  // Rows that have come while a button of the mouse was down: they would move the row under it.
  let [pressed, missed] = [0, null];
  const number = grids += 1;
  const chosen = new Set();
  const inner = h('div', { class: 'grid-rows', role: 'rowgroup' });
  const head = h('div', { class: 'grid-head', role: 'rowgroup' });
  const scroller = h('div', { class: 'grid', role: 'grid', 'data-key': `grid ${number}`, 'aria-label': label, tabindex: 0, 'aria-multiselectable': selectable ? 'true' : null }, head, inner);

  function template() {
    return (selectable ? '2.2rem ' : '') + columns.map(column => column.width ?? 'minmax(6rem, 1fr)').join(' ');
  }
  // All rows are as wide as the narrowest that their columns can be, so that these stay one below the other.
  function leastWidth() {
    const rems = columns.map(column => Number(/([\d.]+)rem/.exec(column.width ?? '6rem')?.[1] ?? 6));
    return `${rems.reduce((all, one) => all + one + 0.75, selectable ? 4.2 : 1.2)}rem`;
  }
  function drawHead() {
    const all = selectable ? [h('div', { role: 'columnheader', class: 'pick' }, h('input', {
      type: 'checkbox', 'aria-label': 'Select all that are loaded', checked: chosen.size > 0 && chosen.size === rows.length,
      onchange: event => { chosen.clear(); if (event.target.checked) rows.forEach((row, n) => chosen.add(keyOf(row, n))); draw(true); onSelect?.(chosen); },
    }))] : [];
    const names = columns.map(column => {
      const is = sortedBy?.()?.name === column.name ? sortedBy().down ? 'descending' : 'ascending' : null;
      const arrow = is ? (is === 'ascending' ? ' ↑' : ' ↓') : '';
      return h('div', { role: 'columnheader', 'data-key': column.name, class: column.end ? 'end' : '', 'aria-sort': is, title: column.hint ?? null },
        onSort && column.sort !== false ? h('button', { type: 'button', class: 'plain', 'data-key': 'sort', onclick: () => onSort(column.name) }, column.label + arrow) : column.label);
    });
    const line = h('div', { role: 'row', class: 'grid-row', 'aria-rowindex': 1 }, all, names);
    line.style.gridTemplateColumns = template();
    head.style.minWidth = inner.style.minWidth = leastWidth();
    update(head, line);
  }
  function drawRow(n) {
    const row = rows[n];
    const key = keyOf(row, n);
    const pick = selectable ? [h('div', { role: 'gridcell', class: 'pick' }, h('input', {
      type: 'checkbox', 'aria-label': `Select row ${n + 1}`, tabindex: -1, checked: chosen.has(key),
      onclick: event => { event.stopPropagation(); toggle(n); },
    }))] : [];
    const cells = columns.map(column => {
      const content = column.cell(row);
      return h('div', { role: 'gridcell', class: column.end ? 'end' : '', title: typeof content === 'string' && content.length > 12 ? content.slice(0, 500) : null }, content);
    });
    const line = h('div', {
      role: 'row', id: `grid-${number}-${n}`, 'data-key': key, class: `grid-row${n === cursor ? ' at' : ''}${chosen.has(key) ? ' chosen' : ''}`, 'aria-rowindex': n + 2,
      'aria-selected': selectable ? String(chosen.has(key)) : null,
      onclick: () => { cursor = n; onOpen?.(row, n); draw(true); },
    }, pick, cells);
    line.style.gridTemplateColumns = template();
    line.style.top = `${n * HEIGHT - shift}px`;
    return line;
  }
  function toggle(n) {
    const key = keyOf(rows[n], n);
    if (!chosen.delete(key)) chosen.add(key);
    cursor = n;
    draw(true);
    onSelect?.(chosen);
  }
  // How far the rows go for a pixel of the scroll bar.
  function stride() {
    const [all, room] = [rows.length * HEIGHT, (scroller.clientHeight || 600) - HEIGHT];
    return all <= TALLEST ? 1 : (all - room) / (TALLEST - room);
  }
  function draw(anew = false) {
    const top = scroller.scrollTop * stride();
    const moved = top - scroller.scrollTop !== shift;
    shift = top - scroller.scrollTop;
    const first = Math.max(0, Math.floor(top / HEIGHT) - SPARE);
    const last = Math.min(rows.length, Math.ceil((top + (scroller.clientHeight || 600)) / HEIGHT) + SPARE);
    if (!anew && !moved && drawn[0] === first && drawn[1] === last) return;
    drawn = [first, last];
    if (anew) drawHead();
    const lines = [];
    for (let n = first; n < last; n += 1) lines.push((anew ? null : elements.get(n)) ?? drawRow(n));
    if (moved) lines.forEach((line, n) => { line.style.top = `${(first + n) * HEIGHT - shift}px`; });
    inner.style.height = `${Math.min(rows.length * HEIGHT, TALLEST)}px`;
    update(inner, lines);
    elements = new Map([...inner.children].map((line, n) => [first + n, line]));
    scroller.setAttribute('aria-rowcount', rows.length + 1);
    if (elements.has(cursor)) scroller.setAttribute('aria-activedescendant', `grid-${number}-${cursor}`);
    else scroller.removeAttribute('aria-activedescendant');
    more();
  }
  // Asks for what follows where the end is near, as often as it is.
  function more() { if (drawn[1] > rows.length - 20) onNearEnd?.(); }
  function set(next) {
    if (pressed) { missed = next; return; }
    rows = next;
    if (cursor >= rows.length) cursor = -1;
    draw(true);
  }
  function released() {
    clearTimeout(pressed);
    pressed = 0;
    if (missed) { const next = missed; missed = null; set(next); }
  }
  function show(n) {
    cursor = Math.max(0, Math.min(rows.length - 1, n));
    const top = cursor * HEIGHT;
    const room = scroller.clientHeight - 2 * HEIGHT;
    const now = scroller.scrollTop * stride();
    if (top < now) scroller.scrollTop = Math.floor(top / stride());
    else if (top > now + room) scroller.scrollTop = Math.ceil((top - room) / stride());
    draw(true);
  }
  scroller.addEventListener('scroll', () => draw(), { passive: true });
  scroller.addEventListener('pointerdown', event => {
    // The bar to scroll with says nothing when it is let go.
    if (event.target === scroller || pressed) return;
    pressed = setTimeout(released, PRESS);
    // The click comes first.
    for (const kind of ['pointerup', 'pointercancel']) window.addEventListener(kind, () => setTimeout(released), { once: true });
  });
  new ResizeObserver(() => draw()).observe(scroller);
  scroller.addEventListener('keydown', event => {
    if (event.target !== scroller) return;
    const page = Math.max(1, Math.floor(scroller.clientHeight / HEIGHT) - 2);
    const move = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity, j: 1, k: -1 }[event.key];
    if (move !== undefined && rows.length) show(cursor + move);
    else if (event.key === 'Enter' && rows[cursor]) onOpen?.(rows[cursor], cursor);
    else if (event.key === ' ' && selectable && rows[cursor]) toggle(cursor);
    else return;
    event.preventDefault();
  });
  return {
    element: scroller,
    chosen,
    rows: () => rows,
    set,
    more,
    columns(next) { columns = next; draw(true); },
    clear() { chosen.clear(); draw(true); onSelect?.(chosen); },
    atTop: () => scroller.scrollTop < HEIGHT,
    toTop() { scroller.scrollTop = 0; },
  };
}
