import { spawnSync } from 'node:child_process';

/** Runs Debian's promtool, which scripts/ensure-tools.ts installs, and returns what it says. Throws where it is missing. */
export function promtool(...args: string[]): { readonly passed: boolean; readonly output: string } {
  const { status, error, stdout, stderr } = spawnSync('promtool', args, { encoding: 'utf8' });
  if (error) throw new Error(`promtool cannot run (${error.message})`);
  return { passed: status === 0, output: stdout + stderr };
}
