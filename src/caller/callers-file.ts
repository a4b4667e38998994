import * as z from 'zod';
import { readSettingsFile, SettingsFileError } from '../config/settings-file.ts';
import type { Caller } from '../request/caller.ts';
import { CERTIFICATE_NAME_FORMS, isCertificateName } from './certificate-names.ts';
import { isScope, scopes, type Scope } from '../request/scopes.ts';

/** The most requests of a rate. It is far below the numbers that Redis' scripts would round. */
const MAX_REQUESTS = 1_000_000_000;
const DAY_S = 86_400;

const wholeTo = (max: number) => z.number().int().min(1).max(max);
const budget = z.number().int().min(0).max(MAX_REQUESTS).optional();
const ids = z.array(z.string().min(1)).default([]);

/** The form of a name, which is long enough for the client ids of every issuer of JWTs. */
const NAME = /^[A-Za-z0-9_.-]{1,128}$/;

const schema = z.strictObject({
  callers: z.array(
    z.strictObject({
      name: z.string().regex(NAME, { error: 'must be 1 to 128 of A-Z a-z 0-9 _ . -' }),
      keys: z
        .array(
          z.string().regex(/^[0-9a-f]{64}$/, { error: 'must be the SHA-256 of a key in hex, in lower case' }),
        )
        .max(2, { error: 'must be at most two keys' })
        .default([]),
      certificates: z
        .array(z.string().refine(isCertificateName, { error: CERTIFICATE_NAME_FORMS }))
        .default([]),
      scopes: z.array(z.string().refine(isScope, { error: `must be one of ${scopes.join(', ')}` })),
      enterprises: ids,
      channels: ids,
      users: ids,
      appKey: z.string().min(1).optional(),
      rateLimit: z.strictObject({ requests: wholeTo(MAX_REQUESTS), perSeconds: wholeTo(DAY_S) }).optional(),
      budgets: z.strictObject({ orders: budget, licences: budget, deletions: budget }).optional(),
    }),
  ),
});

export function readCallersFile(path: string): readonly Caller[] {
  const { callers } = readSettingsFile(path, schema, nameOfEntry);
  assertUnique(callers, 'name', ({ name }) => [name]);
  assertUnique(callers, 'key', ({ keys }) => keys);
  assertUnique(callers, 'certificate', ({ certificates }) => certificates);
  return callers.map((entry) => ({
    name: entry.name,
    keyHashes: entry.keys.map((hex) => Buffer.from(hex, 'hex')),
    certificates: entry.certificates,
    scopes: new Set(entry.scopes as Scope[]),
    grants: {
      enterprises: new Set(entry.enterprises),
      channels: new Set(entry.channels),
      users: new Set(entry.users),
    },
    appKey: entry.appKey,
    rateLimit: entry.rateLimit,
    budgets: entry.budgets,
  }));
}

type Entry = z.output<typeof schema>['callers'][number];

/** Returns the valid name, if any, of the entry that contains the location. */
function nameOfEntry(content: unknown, [list, index]: readonly PropertyKey[]): string | undefined {
  if (list !== 'callers' || index === undefined) return undefined;
  const name = (content as { callers: Partial<Entry>[] }).callers[Number(index)]?.name;
  return typeof name === 'string' && NAME.test(name) ? name : undefined;
}

function assertUnique(
  callers: readonly Entry[],
  what: string,
  of: (entry: Entry) => readonly string[],
): void {
  const users = new Map<string, number>();
  for (const [index, entry] of callers.entries()) {
    for (const value of of(entry)) {
      const before = users.get(value);
      if (before !== undefined) {
        const fault = `callers[${index}] of "${entry.name}" has the ${what} of callers[${before}]`;
        throw new SettingsFileError(`${fault}: every ${what} must be used once`);
      }
      users.set(value, index);
    }
  }
}
