import { readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Grants } from '../upstream/call-context.ts';
import { isScope, scopes, type Scope } from './scopes.ts';

/** One entry of the callers file: who it is, how it proves it, and what it may do and name. */
export interface Caller {
  readonly name: string;
  /** SHA-256 of each key; two allow rotation. */
  readonly keyHashes: readonly Buffer[];
  readonly scopes: ReadonlySet<Scope>;
  readonly grants: Grants;
  readonly appKey?: string;
  /** Undefined: its rate is not limited. */
  readonly rateLimit?: RateLimit;
}

/** So many requests in a window of so many seconds. */
export interface RateLimit {
  readonly requests: number;
  readonly perSeconds: number;
}

/** Far from where Redis' scripts would round. */
const MAX_REQUESTS = 1_000_000_000;
const DAY_S = 86_400;

const wholeTo = (max: number) => z.number().int().min(1).max(max);
const ids = z.array(z.string().min(1)).default([]);

const schema = z.strictObject({
  callers: z.array(
    z.strictObject({
      name: z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/, { error: 'must be 1 to 64 of A-Z a-z 0-9 _ . -' }),
      keys: z
        .array(
          z.string().regex(/^[0-9a-f]{64}$/, { error: 'must be the SHA-256 of a key in hex, in lower case' }),
        )
        .max(2, { error: 'must be at most two keys' })
        .default([]),
      scopes: z.array(z.string().refine(isScope, { error: `must be one of ${scopes.join(', ')}` })),
      enterprises: ids,
      channels: ids,
      users: ids,
      appKey: z.string().min(1).optional(),
      rateLimit: z.strictObject({ requests: wholeTo(MAX_REQUESTS), perSeconds: wholeTo(DAY_S) }).optional(),
    }),
  ),
});

/** The callers file does not say who may call. Names the place and the rule, never a value. */
export class CallersFileError extends Error {
  override readonly name = 'CallersFileError';
}

/** Reads and checks the file. Throws {@link CallersFileError}. */
export function readCallersFile(path: string): readonly Caller[] {
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    throw new CallersFileError('must be the path of a readable JSON file');
  }
  const result = schema.safeParse(content);
  if (!result.success) {
    const faults = result.error.issues.map(
      (issue) => `${issue.path.join('.') || 'the file'}: ${issue.message}`,
    );
    throw new CallersFileError(faults.join('; '));
  }
  const { callers } = result.data;
  assertUnique(
    'name',
    callers.map(({ name }) => name),
  );
  assertUnique(
    'key',
    callers.flatMap(({ keys }) => keys),
  );
  return callers.map((entry) => ({
    name: entry.name,
    keyHashes: entry.keys.map((hex) => Buffer.from(hex, 'hex')),
    scopes: new Set(entry.scopes as Scope[]),
    grants: {
      enterprises: new Set(entry.enterprises),
      channels: new Set(entry.channels),
      users: new Set(entry.users),
    },
    appKey: entry.appKey,
    rateLimit: entry.rateLimit,
  }));
}

function assertUnique(what: string, values: readonly string[]): void {
  if (new Set(values).size !== values.length) throw new CallersFileError(`every ${what} must be used once`);
}
