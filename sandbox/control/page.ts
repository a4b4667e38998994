/** The control side's own page, for a person with a browser. */
import { OPERATIONS } from '../operations.ts';
import { index } from './routes.ts';

export function page(): string {
  const calls = index().map(({ method, path, does }) => [method, link(method, path), escaped(does)]);
  const operations = OPERATIONS.map(({ name, method, path }) => [method, code(path), name]);
  return `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>Sandbox</title>
<meta name="viewport" content="width=device-width">
<style>:root{color-scheme:light dark}body{font:1rem/1.5 system-ui;margin:2rem auto;max-width:70rem;padding:0 1rem}td{padding:.1rem .8rem .1rem 0;vertical-align:top}code{overflow-wrap:anywhere}</style></head>
<body><h1>Sandbox</h1><p>An emulator of the licensing platform. <code>sandbox/README.md</code> tells all of it.</p>
<h2>Controlling it</h2>${table(calls)}
<h2>The platform\u2019s operations</h2>${table(operations)}</body></html>
`;
}

function table(rows: readonly (readonly string[])[]): string {
  return `<table>${rows.map((row) => `<tr>${row.map((cell) => `<td>${cell}</td>`).join('')}</tr>`).join('\n')}</table>`;
}

function link(method: string, path: string): string {
  return method === 'GET' ? `<a href="${path}">${code(path)}</a>` : code(path);
}

function code(text: string): string {
  return `<code>${text}</code>`;
}

function escaped(text: string): string {
  return text.replaceAll('<', '&lt;');
}
