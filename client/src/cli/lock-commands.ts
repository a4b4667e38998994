import type { DisableLocksInput, DryRun, Licensing, LockResults } from '../licensing.ts';
import { exitCodes } from './output.ts';
import { ENTERPRISE, enterprise, list, type Runnable, show } from './runnable.ts';

interface Calls {
  change(input: DisableLocksInput): Promise<LockResults>;
  preview(input: DisableLocksInput): Promise<DryRun>;
}

function lockCommand(verb: string, callsOf: (licensing: Licensing) => Calls): Runnable {
  return {
    name: `locks ${verb}`,
    places: [ENTERPRISE, '<number...>'],
    about: `${verb}s physical locks; exit code 1 where it did not succeed with all`,
    options: {
      'dry-run': { type: 'yes', about: 'only shows what would be sent, and how the locks are now' },
    },
    run: async (given, world) => {
      const input = { ...enterprise(given), assetNums: given.places.slice(1) };
      const calls = callsOf(world.licensing());
      if (given.yes.has('dry-run')) return show(given, world, await calls.preview(input));
      const { items, failed } = await calls.change(input);
      await list(given, world, ['assetNum', 'status'], items);
      return failed > 0 ? exitCodes.someFailed : exitCodes.done;
    },
  };
}

export const lockCommands: readonly Runnable[] = [
  lockCommand('disable', ({ locks }) => ({
    change: (input) => locks.disable(input),
    preview: (input) => locks.previewDisable(input),
  })),
  lockCommand('enable', ({ locks }) => ({
    change: (input) => locks.enable(input),
    preview: (input) => locks.previewEnable(input),
  })),
];
