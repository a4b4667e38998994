/**
 * Deliberate bugs of imports, one at a time: the chaos run preloads this file (`--import`) into a built gateway and selects one by
 * CHAOS_VARIANT, which no other code reads. A run that passes with one of them proves nothing.
 */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Redis } from 'ioredis';
import type * as Directory from '../../src/jobs/member-directory.ts';
import type * as Imports from '../../src/jobs/imports.service.ts';
import type * as Store from '../../src/jobs/redis-job-store.ts';
import type { ActName } from './acts.ts';

function built<T>(path: string): Promise<T> {
  return import(pathToFileURL(resolve('dist/jobs', path)).href) as Promise<T>;
}

type Method = (this: unknown, ...all: unknown[]) => unknown;

/** Replaces a method; `goOn` calls the one that was there. */
function instead(
  prototype: object,
  name: string,
  other: (goOn: (...all: unknown[]) => unknown, all: unknown[]) => unknown,
): void {
  const methods = prototype as Record<string, Method | undefined>;
  const method = methods[name];
  if (!method) throw new Error(`there is no ${name} any more`);
  methods[name] = function (this: unknown, ...all: unknown[]) {
    return other((...others) => method.apply(this, others), all);
  };
}

/** The scripts of jobs with changed parts. */
async function inScripts(changes: readonly (readonly [string, string])[]): Promise<void> {
  const source = await readFile(resolve('dist/jobs/job-scripts.js'), 'utf8');
  for (const [piece] of changes)
    if (!source.includes(piece)) throw new Error(`the scripts of jobs no longer contain: ${piece}`);
  instead(Redis.prototype, 'evalsha', () => Promise.reject(new Error('NOSCRIPT')));
  instead(Redis.prototype, 'eval', (goOn, [script, ...rest]) =>
    goOn(
      changes.reduce((text, [piece, other]) => text.replaceAll(piece, other), script as string),
      ...rest,
    ),
  );
}

interface Variant {
  /** Acts that find it. */
  readonly acts: readonly ActName[];
  /** Applied to a gateway before it starts. */
  readonly apply: () => Promise<void>;
}

export const variants = {
  'no-record-before-sending': {
    acts: ['killed-before-the-record'],
    apply: async () => {
      const { RedisJobStore } = await built<typeof Store>('redis-job-store.js');
      instead(RedisJobStore.prototype, 'begin', () => Promise.resolve('begun'));
    },
  },
  'no-lookup-after-a-lost-response': {
    acts: ['lost-responses'],
    apply: async () => {
      const { MemberDirectory } = await built<typeof Directory>('member-directory.js');
      instead(MemberDirectory.prototype, 'of', () => Promise.resolve(new Map()));
    },
  },
  'passwords-kept': {
    acts: ['passwords'],
    apply: () =>
      inScripts([
        ["redis.call('DEL', KEYS[2], KEYS[3])", "redis.call('DEL', KEYS[3])"],
        ["redis.call('HDEL', KEYS[2], ARGV[2])\n", ''],
      ]),
  },
  'two-imports-at-once': {
    acts: ['second-import'],
    apply: () => inScripts([["if slot.enterprise == ARGV[2] then return {'in-progress', all[at]} end", '']]),
  },
  'plan-not-bounded': {
    acts: ['bounded-deletes'],
    apply: async () => {
      const { ImportsService } = await built<typeof Imports>('imports.service.js');
      instead(ImportsService.prototype, 'importMembers', (goOn, [request, query]) =>
        goOn(request, { ...(query as object), maxDeletes: 1_000_000 }),
      );
    },
  },
  'plan-bounded-only-when-the-file-arrives': {
    acts: ['bounded-deletes'],
    apply: async () => {
      const { RedisJobStore } = await built<typeof Store>('redis-job-store.js');
      instead(RedisJobStore.prototype, 'create', (goOn, [definition, ...rest]) =>
        goOn({ ...(definition as object), deletes: { most: 1_000_000, keep: [] } }, ...rest),
      );
    },
  },
} satisfies Record<string, Variant>;
export type VariantName = keyof typeof variants;

export const variantNames = Object.keys(variants) as VariantName[];

const chosen = process.env['CHAOS_VARIANT'];
if (chosen !== undefined) {
  await import('reflect-metadata');
  await variants[chosen as VariantName].apply();
}
