import { readFileSync } from 'node:fs';

const TYPES = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
} as const;

/** Paths below `/console`, and files in the folder `page`. */
const FILES: Readonly<Record<string, string>> = {
  '': 'index.html',
  '/': 'index.html',
  ...Object.fromEntries(
    [
      ...[
        'console.css',
        'icon.svg',
        'console.js',
        'dom.js',
        'format.js',
        'now.js',
        'orders.js',
        'settle.js',
        'jobs.js',
        'dialog.js',
      ],
      ...['tables.js', 'credential.js'],
    ].map((name) => [`/${name}`, name]),
  ),
};

interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
}

const read = new Map<string, PageFile>();

/** A file of the page, from memory after the first request for it. */
export function pageFile(path: string): PageFile | undefined {
  const name = Object.hasOwn(FILES, path) ? FILES[path] : undefined;
  if (name === undefined) return undefined;
  const known = read.get(name);
  if (known) return known;
  const type = TYPES[name.split('.')[1] as keyof typeof TYPES];
  const file = { type, bytes: readFileSync(new URL(`page/${name}`, import.meta.url)) };
  read.set(name, file);
  return file;
}
