/**
 * Deliberate bugs of imports, one at a time: the chaos run preloads this file (`--import`) into a built gateway and selects one by
 * CHAOS_VARIANT. A run that passes with one of them proves nothing.
 */
import type * as Calls from '../../../src/jobs/member-imports/import-calls.ts';
import type * as Known from '../../../src/jobs/member-imports/known-members.ts';
import type * as Imports from '../../../src/jobs/member-imports/imports.service.ts';
import type * as Store from '../../../src/jobs/store/redis-job-store.ts';
import { applyChosen, around, changed, inScripts } from '../../support/variant.ts';
import type { Variant } from '../engine.ts';
import type { acts } from './acts.ts';

const SCRIPTS = 'jobs/store/job-scripts.js';

export const variants = {
  'no-record-before-sending': {
    act: 'killed-before-the-record',
    apply: async () => {
      const { RedisJobStore } = await changed<typeof Store>('jobs/store/redis-job-store');
      around(RedisJobStore.prototype, 'begin', () => Promise.resolve('done'));
    },
  },
  'no-lookup-after-a-lost-response': {
    act: 'lost-responses',
    apply: async () => {
      const { ImportCalls } = await changed<typeof Calls>('jobs/member-imports/import-calls');
      const { KnownMembers } = await changed<typeof Known>('jobs/member-imports/known-members');
      around(ImportCalls.prototype, 'find', () => Promise.resolve(new KnownMembers([], [], undefined)));
    },
  },
  'passwords-kept': {
    act: 'passwords',
    apply: async () => {
      await inScripts(SCRIPTS, "redis.call('DEL', KEYS[2], KEYS[3])", "redis.call('DEL', KEYS[3])");
      await inScripts(SCRIPTS, "redis.call('HDEL', KEYS[2], ARGV[2])\n", '');
    },
  },
  'two-imports-at-once': {
    act: 'second-import',
    apply: () =>
      inScripts(SCRIPTS, "if slot.enterprise == ARGV[2] then return {'in-progress', all[at]} end", ''),
  },
  'plan-not-bounded': {
    act: 'bounded-deletes',
    apply: async () => {
      const { ImportsService } = await changed<typeof Imports>('jobs/member-imports/imports.service');
      around(ImportsService.prototype, 'importMembers', (goOn, [request, query]) =>
        goOn(request, { ...(query as object), maxDeletes: 1_000_000 }),
      );
    },
  },
  'plan-bounded-only-when-the-file-arrives': {
    act: 'bounded-deletes',
    apply: async () => {
      const { RedisJobStore } = await changed<typeof Store>('jobs/store/redis-job-store');
      around(RedisJobStore.prototype, 'create', (goOn, [owner, definition, ...rest]) =>
        goOn(owner, { ...(definition as object), deletes: { most: 1_000_000, keep: [] } }, ...rest),
      );
    },
  },
} satisfies Record<string, Variant & { readonly act: keyof typeof acts }>;
await applyChosen(variants);
