// Files: rows out as JSON lines or CSV, documents in from either.

import { parse, parseAll, compact, shown, quoted, JsonProblem } from './json.js';

// How many rows are made text of at once, so that the page goes on between.
const STEP = 200;

// A text, or a Blob.
export function download(name, content, type = 'application/json') {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const anchor = document.createElement('a');
  anchor.href = url;
  anchor.download = name.replace(/[^\w.-]+/g, '-');
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}

export const lines = texts => texts.map(text => `${compact(parse(text))}\n`).join('');

// As `cosmonaut export` writes it: a text as it is, anything else as JSON. A text that would be read as JSON, or as
// nothing, is written as JSON too, with quotes of its own; the id is always text.
const FORMULA = /^'*[=+\-@\t\r]/;
function cell(name, node) {
  let text = shown(node);
  if (node?.kind === 'string') {
    if (name !== 'id' && (text === '' || isJson(text))) text = node.raw;
    // A spreadsheet would take it for a formula.
    else if (FORMULA.test(text)) text = `'${text}`;
  }
  return /[",\r\n]|^ | $/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const heading = columns => columns.map(text => cell('id', { kind: 'string', raw: quoted(text) })).join(',');
const line = (row, columns) => columns.map(column => cell(column, row.kind === 'object' ? row.members.findLast(found => found.name === column)?.value : column === 'value' ? row : undefined)).join(',');

export function csv(texts) {
  const rows = texts.map(parse);
  const columns = columnsOf(rows);
  return [heading(columns), ...rows.map(row => line(row, columns))].map(text => `${text}\r\n`).join('');
}

// A file, 'csv' or 'jsonl', of rows that come by page. No text in it is as long as the file.
export function collector(kind) {
  const [parts, columns] = [[], new Set()];
  const breath = () => new Promise(resolve => setTimeout(resolve));
  let number = 0;
  return {
    count: () => number,
    async add(texts) {
      for (let from = 0; from < texts.length; from += STEP) {
        const some = texts.slice(from, from + STEP);
        number += some.length;
        if (kind === 'csv') {
          const rows = some.map(parse);
          columnsOf(rows).forEach(name => columns.add(name));
          const names = [...columns];
          parts.push({ width: names.length, rows: rows.map(row => line(row, names)) });
        } else parts.push(new Blob([lines(some)]));
        await breath();
      }
    },
    async save(name) {
      if (kind !== 'csv') { download(`${name}.jsonl`, new Blob(parts), 'application/jsonl'); return; }
      const blobs = [`${heading([...columns])}\r\n`];
      for (const { width, rows } of parts) {
        // Columns that were first seen in later rows.
        const end = `${','.repeat(Math.max(0, columns.size - Math.max(1, width)))}\r\n`;
        blobs.push(new Blob([rows.map(text => text + end).join('')]));
        await breath();
      }
      download(`${name}.csv`, new Blob(blobs), 'text/csv');
    },
  };
}

export function columnsOf(rows) {
  const columns = new Set();
  for (const row of rows) {
    if (row.kind === 'object') row.members.forEach(found => columns.add(found.name));
    else columns.add('value');
  }
  return [...columns];
}

// The documents of a file, as texts: lines of JSON, a list, or documents one after another, however they are written.
export function documents(text, name) {
  const trimmed = text.replace(/^\ufeff/, '').trim();
  if (/\.csv$/i.test(name)) return fromCsv(trimmed);
  try {
    const found = parseAll(trimmed);
    return (found.length === 1 && found[0].kind === 'array' ? found[0].items : found).map(compact);
  } catch (error) {
    if (!(error instanceof JsonProblem)) throw error;
    throw new JsonProblem(`line ${trimmed.slice(0, error.place).split('\n').length}: ${error.message}`, error.place);
  }
}

function fromCsv(text) {
  const [header, ...rows] = records(text);
  const names = header.map(plain);
  return rows.filter(fields => fields.length > 1 || fields[0]).map(fields => `{${names.map((name, n) => [name, fields[n] ?? '']).filter(([, value]) => value !== '')
    .map(([name, value]) => `${quoted(name)}:${name !== 'id' && isJson(value) ? compact(parse(value)) : quoted(plain(value))}`).join(',')}}`);
}
const plain = value => (value.startsWith("'") && FORMULA.test(value) ? value.slice(1) : value);
function isJson(value) {
  // What begins like no JSON is not parsed.
  if (!/^\s*[[{"\-\dtfn]/.test(value)) return false;
  try { parse(value); return true; } catch { return false; }
}
function records(text) {
  const all = [];
  let [record, value, isQuoted] = [[], '', false];
  for (let at = 0; at < text.length; at += 1) {
    const c = text[at];
    if (isQuoted) {
      if (c === '"' && text[at + 1] === '"') { value += '"'; at += 1; } else if (c === '"') isQuoted = false; else value += c;
    } else if (c === '"' && value === '') isQuoted = true;
    else if (c === ',') { record.push(value); value = ''; }
    else if (c === '\n') { record.push(value.replace(/\r$/, '')); all.push(record); [record, value] = [[], '']; }
    else value += c;
  }
  record.push(value);
  all.push(record);
  return all;
}
