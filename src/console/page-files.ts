import { shippedFile } from '../shared/shipped-file.ts';

const TYPES = {
  html: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
} as const;

/** In the folder `console-page`. */
const FILES = [
  ...['index.html', 'console.css', 'icon.svg', 'console.js', 'dom.js', 'format.js', 'now.js', 'orders.js'],
  ...['settle.js', 'jobs.js', 'dialog.js', 'tables.js', 'credential.js'],
];

export interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
}

/** The files of the page, by their path below `/console`. Throws where one is missing. */
export function pageFiles(): ReadonlyMap<string, PageFile> {
  const folder = new URL('console-page/', import.meta.url);
  const files = FILES.map((name): [string, PageFile] => [
    `/${name}`,
    { type: TYPES[name.split('.')[1] as keyof typeof TYPES], bytes: shippedFile(new URL(name, folder)) },
  ]);
  const index = files[0]?.[1] as PageFile;
  return new Map([...files, ['', index], ['/', index]]);
}
