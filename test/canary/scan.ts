import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { type Kind, kinds } from '../support/canary.ts';

export interface Finding {
  /** The kind of the leaked secret; never the secret itself. */
  readonly kind: string;
  readonly form: string;
  readonly file: string;
  /** The text before it. */
  readonly before: string;
}

export interface Scan {
  readonly findings: readonly Finding[];
  readonly files: number;
  readonly bytes: number;
}

type Filter = (path: string) => boolean;

/** The most findings that are told for each file, because one leak may be written a million times. */
const TOLD_PER_FILE = 5;
/** A session's id has no mark: the gateway makes it up, and returns it once, in this form. */
const SESSION = /"sessionId":"([\w-]{22})"/g;

/** Searches all files below the folders for the mark in every form, and for ids of sessions in responses. */
export function scan(folders: readonly string[], mark: string, isIgnored: Filter = () => false): Scan {
  const paths = folders.flatMap((folder) => filesBelow(folder, isIgnored));
  const sessions = new Set(paths.filter(isAnswers).flatMap((path) => sessionsIn(read(path))));
  const forms = formsOf(mark);
  const findings: Finding[] = [];
  let bytes = 0;
  for (const path of paths) {
    const text = read(path);
    bytes += text.length;
    const hits = [...forms.flatMap((form) => marksIn(text, form)), ...strayed(text, sessions)];
    for (const { at, ...hit } of hits.slice(0, TOLD_PER_FILE))
      findings.push({ ...hit, file: path, before: before(text, at, mark) });
  }
  return { findings, files: paths.length, bytes };
}

interface Form {
  readonly name: string;
  readonly pattern: RegExp;
}

interface Hit {
  readonly kind: string;
  readonly form: string;
  readonly at: number;
}

/** The forms of a leaked text; percent encoding and JSON do not change letters and digits. */
function formsOf(mark: string): readonly Form[] {
  const bytes = [...Buffer.from(mark)];
  const hex = bytes.map((byte) => byte.toString(16));
  const literal = (name: string, text: string) => ({ name, pattern: new RegExp(RegExp.escape(text), 'g') });
  return [
    { name: 'as it is', pattern: new RegExp(`${mark}(.?)`, 'g') },
    literal('hex', hex.join('')),
    literal('HEX', hex.join('').toUpperCase()),
    literal('inspected bytes', hex.join(' ')),
    { name: 'a list of bytes', pattern: new RegExp(`\\b${bytes.join(',\\s*')}\\b`, 'g') },
    literal('UTF-16', Buffer.from(mark, 'utf16le').toString('latin1')),
    // An encryption key has this form.
    literal('decoded base64', Buffer.from(mark, 'base64').toString('latin1')),
    ...[0, 1, 2].map((offset) => {
      // The part that does not depend on its neighbours, in both alphabets.
      const text = Buffer.from(`${'x'.repeat(offset)}${mark}`)
        .toString('base64')
        .replaceAll('=', '');
      const own = text.slice(Math.ceil((offset * 8) / 6), Math.floor(((offset + mark.length) * 8) / 6));
      const pattern = own.replace(/[+/]/g, (sign) => (sign === '+' ? '[+-]' : '[/_]'));
      return { name: 'base64', pattern: new RegExp(pattern, 'g') };
    }),
  ];
}

function marksIn(text: string, { name, pattern }: Form): Hit[] {
  return [...text.matchAll(pattern)].map(({ index, 1: letter = '' }) => ({
    kind: kinds[letter as Kind] ?? 'secret',
    form: name,
    at: index,
  }));
}

/** Ids of sessions, except in the response that creates them. */
function strayed(text: string, sessions: ReadonlySet<string>): Hit[] {
  if (sessions.size === 0) return [];
  return [...text.matchAll(/[\w-]{22,}/g)]
    .filter(({ 0: word, index }) => sessions.has(word) && !text.startsWith('"sessionId":"', index - 13))
    .map(({ index }) => ({ kind: 'id of a session', form: 'as it is', at: index }));
}

function sessionsIn(text: string): string[] {
  return [...text.matchAll(SESSION)].flatMap(({ 1: id }) => id ?? []);
}

/** Returns enough of the text to find the position, without the secret. */
function before(text: string, at: number, mark: string): string {
  return text
    .slice(Math.max(0, at - 80), at)
    .replaceAll(new RegExp(`${mark}\\w*`, 'g'), '[canary]')
    .replaceAll(/[^\x20-\x7e]+/g, ' ');
}

function isAnswers(path: string): boolean {
  return basename(path).startsWith('answers');
}

/** One character for each byte: the searched text is ASCII, or bytes. */
function read(path: string): string {
  return readFileSync(path, 'latin1');
}

function filesBelow(path: string, isIgnored: Filter): string[] {
  if (isIgnored(path)) return [];
  const stats = lstatSync(path);
  if (stats.isFile()) return [path];
  return stats.isDirectory()
    ? readdirSync(path).flatMap((name) => filesBelow(join(path, name), isIgnored))
    : [];
}
