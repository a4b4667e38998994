import { createHash, randomBytes } from 'node:crypto';
import { openSync, writeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { threadId } from 'node:worker_threads';

/**
 * Credentials for a test run, each with the run's mark in it: a mark in any output shows a leaked secret. Output is kept in a folder
 * (`CANARY_FOLDER`, set by canary.reporter.ts, which scans it); without the folder it is not kept.
 */

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Random for each run, so that a run inside another run does not look like a leak. */
const MARK = process.env['CANARY_MARK'] ?? newMark();
const FOLDER = process.env['CANARY_FOLDER'];

/** The letter behind the mark names the kind of secret. */
export const kinds = {
  a: 'application key',
  s: 'application secret',
  k: 'API key',
  u: 'password of a user',
  m: 'password of an employee',
  l: 'licence password',
  t: 'token',
  e: 'encryption key',
  r: 'Redis password',
  c: 'other credential',
} as const;
export type Kind = keyof typeof kinds;

export function newMark(): string {
  return randomText(8);
}

/** A secret that a test makes up; 27 characters fit every rule for passwords. Letters and digits only. */
export function newSecret(kind: Kind, length = 27): string {
  keep('made', kind);
  return MARK + kind + randomText(length - MARK.length - 1);
}

/** Makes a key as src/caller/api-key.ts does. */
export function newApiKey(): { key: string; hash: string } {
  const key = `lgw_${newSecret('k', 43)}`;
  return { key, hash: createHash('sha256').update(key).digest('hex') };
}

/** A value for ENCRYPTION_KEYS: the mark is in the text, and so in the bytes. */
export function newEncryptionKey(kid = 'k1'): string {
  // 32 bytes: of the last digit only two bits count.
  return `${kid}:${newSecret('e', 42)}A=`;
}

const files = new Map<string, number>();

/** Keeps some output; within a process, the same `name` is one file. */
export function keep(name: string, chunk: string | Uint8Array): void {
  if (!FOLDER) return;
  let file = files.get(name);
  if (file === undefined) {
    file = openSync(join(FOLDER, `${name}.${process.pid}.${threadId}`), 'a');
    files.set(name, file);
  }
  if (typeof chunk === 'string') writeSync(file, chunk);
  else writeSync(file, chunk);
}

/** The folder for files to scan, if there is one. */
export function keptFolder(): string | undefined {
  return FOLDER;
}

/** Keeps what a reader of the stream reads; it does not start reading itself. */
export function keepRead(name: string, stream: Readable): void {
  const push = stream.push.bind(stream);
  stream.push = (chunk: Uint8Array | null, encoding?: BufferEncoding) => {
    if (chunk !== null) keep(name, chunk);
    return push(chunk, encoding);
  };
}

/** Keeps the responses on a client's connection. */
export function keepAnswers(socket: Socket): void {
  const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
  socket.write = (chunk: string | Uint8Array, ...rest: unknown[]) => {
    keep('answers', chunk);
    return write(chunk, ...rest);
  };
}

/** Makes a gateway that starts with this environment keep its responses. */
export function keepingAnswers(): Record<string, string> {
  if (!FOLDER) return {};
  const preload = new URL('../canary/keep-answers.js', import.meta.url).href;
  return { CANARY_FOLDER: FOLDER, NODE_OPTIONS: `--import ${preload}` };
}

function randomText(length: number): string {
  return Array.from(randomBytes(length), (byte) => ALPHABET[byte % ALPHABET.length]).join('');
}
