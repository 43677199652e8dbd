// Plots: a frame, three lines to read values by, one line a series. Drawn as elements, so that colours are classes.

import { h, svgTitle } from './dom.js';

const WIDTH = 640;
const HEIGHT = 150;
const LEFT = 54;
const BOTTOM = 20;
const TOP = 8;

function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(value || 1));
  return [1, 2, 5, 10].map(step => step * power).find(step => step >= value) ?? 10 * power;
}

// series: [{name, values: [number or null], number}] of one length; unit(value) -> text.
export function plot({ title, sentence, series, unit, ends }) {
  const most = ceiling(Math.max(...series.flatMap(one => one.values.filter(value => value !== null)), 0.001));
  const length = Math.max(2, series[0]?.values.length ?? 2);
  const x = n => LEFT + (n / (length - 1)) * (WIDTH - LEFT - 8);
  const y = value => TOP + (1 - value / most) * (HEIGHT - TOP - BOTTOM);
  const grid = [0, 0.5, 1].map(part => [
    h('line', { class: 'p-grid', x1: LEFT, x2: WIDTH - 8, y1: y(part * most), y2: y(part * most) }),
    h('text', { class: 'p-label', x: LEFT - 6, y: y(part * most) + 4, 'text-anchor': 'end' }, unit(part * most)),
  ]);
  const lines = series.map(one => h('path', { class: `p-line line-${one.number}${one.dashed ? ' dashed' : ''}`, d: path(one.values, x, y) }));
  return h('figure', { class: 'plot' },
    h('figcaption', {}, h('b', {}, title), h('span', { class: 'key' }, series.map(one => h('span', {}, h('i', { class: `fill-${one.number}` }), one.name)))),
    h('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': `${title}. ${sentence}` }, svgTitle(title), h('desc', {}, sentence), grid,
      h('rect', { class: 'p-frame', x: LEFT, y: TOP, width: WIDTH - LEFT - 8, height: HEIGHT - TOP - BOTTOM }), lines,
      h('text', { class: 'p-label', x: LEFT, y: HEIGHT - 5 }, ends[0]),
      h('text', { class: 'p-label', x: WIDTH - 8, y: HEIGHT - 5, 'text-anchor': 'end' }, ends[1])));
}

function path(values, x, y) {
  let line = '';
  let open = false;
  values.forEach((value, n) => {
    if (value === null) { open = false; return; }
    line += `${open ? 'L' : 'M'}${x(n).toFixed(1)} ${y(value).toFixed(1)}`;
    // A value with nothing beside it is a dot.
    if (!open && (values[n + 1] ?? null) === null) line += `h1`;
    open = true;
  });
  return line || 'M0 0';
}
