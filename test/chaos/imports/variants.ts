/**
 * Deliberate bugs of imports, one at a time: the chaos run preloads this file (`--import`) into a built gateway and selects one by
 * CHAOS_VARIANT. A run that passes with one of them proves nothing.
 */
import type * as Calls from '../../../src/jobs/member-imports/import-calls.ts';
import type * as Known from '../../../src/jobs/member-imports/known-members.ts';
import type * as Imports from '../../../src/jobs/member-imports/imports.service.ts';
import type { Decision } from '../../../src/database/step.ts';
import type * as Rooms from '../../../src/jobs/store/job-rooms-store.ts';
import type * as Steps from '../../../src/jobs/store/job-steps-store.ts';
import type * as Store from '../../../src/jobs/store/job-store.ts';
import { applyChosen, around, changed } from '../../support/variant.ts';
import type { Variant } from '../engine.ts';
import type { acts } from './acts.ts';

export const variants = {
  'no-record-before-sending': {
    act: 'killed-before-the-record',
    apply: async () => {
      const { JobStore } = await changed<typeof Store>('jobs/store/job-store');
      around(JobStore.prototype, 'begin', () => Promise.resolve('done'));
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
      const { JobStore } = await changed<typeof Store>('jobs/store/job-store');
      const { finish } = await changed<typeof Steps>('jobs/store/job-steps-store');
      around(JobStore.prototype, 'save', (goOn, [change]) => {
        const { waiting = Buffer.from('kept'), ...rest } = change as { readonly waiting?: Buffer };
        return goOn({ ...rest, waiting });
      });
      around<Decision<unknown>>(finish, 'decide', (goOn, all) => {
        const { writes = [], ...rest } = goOn(...all);
        return {
          ...rest,
          writes: writes.filter(({ statement }) => !statement.textFor('postgres').includes('waiting = NULL')),
        };
      });
    },
  },
  'two-imports-at-once': {
    act: 'second-import',
    apply: async () => {
      const { reserve } = await changed<typeof Rooms>('jobs/store/job-rooms-store');
      around(reserve, 'decide', (goOn, [wanted, found, now]) =>
        goOn(wanted, (found as unknown[]).with(1, []), now),
      );
    },
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
      const { JobStore } = await changed<typeof Store>('jobs/store/job-store');
      around(JobStore.prototype, 'create', (goOn, [owner, definition, ...rest]) =>
        goOn(owner, { ...(definition as object), deletes: { most: 1_000_000, keep: [] } }, ...rest),
      );
    },
  },
} satisfies Record<string, Variant & { readonly act: keyof typeof acts }>;
await applyChosen(variants);
