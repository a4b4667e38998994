import type { DisableLocksInput, DryRun, Licensing, LockResults } from '../licensing.ts';
import { licensingOf } from './access.ts';
import { command, group } from './command.ts';
import { exitCodes, list, show } from './output.ts';

interface Calls {
  change(input: DisableLocksInput): Promise<LockResults>;
  preview(input: DisableLocksInput): Promise<DryRun>;
}

function lockCommand(verb: string, callsOf: (licensing: Licensing) => Calls) {
  return command(verb, `${verb}s physical locks; exit code 1 where it did not succeed with all`)
    .argument('<enterprise>')
    .argument('<number...>')
    .option('--dry-run', 'only shows what would be sent, and how the locks are now')
    .action(async (enterpriseGlobalId, assetNums, options) => {
      const input = { enterpriseGlobalId, assetNums };
      const calls = callsOf(licensingOf(options));
      if (options.dryRun) return show(await calls.preview(input), options);
      const { items, failed } = await calls.change(input);
      await list(options, ['assetNum', 'status'], items);
      if (failed > 0) process.exitCode = exitCodes.someFailed;
    });
}

export const locks = group('locks', 'physical locks', [
  lockCommand('disable', ({ locks: calls }) => ({
    change: (input) => calls.disable(input),
    preview: (input) => calls.previewDisable(input),
  })),
  lockCommand('enable', ({ locks: calls }) => ({
    change: (input) => calls.enable(input),
    preview: (input) => calls.previewEnable(input),
  })),
]);
