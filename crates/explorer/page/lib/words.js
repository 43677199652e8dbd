// Numbers, times and names for people.

import { h } from './dom.js';

export const ru = units => `${(units ?? 0).toFixed(2)} RU`;
export const ms = time => (time === null || time === undefined ? '–' : time < 10 ? `${time.toFixed(1)} ms` : time < 10000 ? `${Math.round(time)} ms` : `${(time / 1000).toFixed(1)} s`);
export const count = (number, one, many = `${one}s`) => `${group(number)} ${number === 1 ? one : many}`;
export const group = number => String(number).replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
export const bytes = size => (size < 1024 ? `${size} B` : size < 1048576 ? `${(size / 1024).toFixed(1)} KB` : `${(size / 1048576).toFixed(1)} MB`);
const two = number => String(number).padStart(2, '0');
export function clock(millis) {
  const at = new Date(millis);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.${String(at.getMilliseconds()).padStart(3, '0')}`;
}
export function moment(millis) {
  if (!millis) return '–';
  const at = new Date(millis);
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}
export function span(millis) {
  if (millis === null || millis === undefined) return '–';
  if (millis < 1000) return `${Math.round(millis)} ms`;
  const seconds = millis / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)} h ${Math.floor(seconds / 60) % 60} min`;
  return `${Math.floor(seconds / 86400)} d`;
}

// Each region has a colour and a letter that no other has, in the order of priority.
let known = [];
export const setRegions = names => { known = names; };
export const regionNumber = name => { const at = known.indexOf(name); return at < 0 ? 9 : at % 6; };
export function letter(name) {
  const letters = [];
  for (const of of known) {
    const free = [...of.toUpperCase().replace(/[^A-Z]/g, ''), ...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'].find(c => !letters.includes(c));
    letters.push(free ?? '?');
  }
  return letters[known.indexOf(name)] ?? '·';
}
export const badge = name => h('span', { class: `badge region-${regionNumber(name)}`, title: name || 'the account' }, name ? letter(name) : '∗');
export const regionLabel = name => h('span', { class: 'region' }, badge(name), name || 'account');

export const statusClass = status => (status === null || status === undefined ? 'bad' : status >= 500 || status === 429 ? 'bad' : status >= 400 ? 'warn' : 'good');
export const statusText = (status, sub) => (status === null || status === undefined ? 'cut off' : sub ? `${status}/${sub}` : String(status));
