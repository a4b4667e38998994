import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import type { Strain, StrainReport } from './strain.ts';

/**
 * Starts the attack of strain.ts; resolves when it is over. It has to leave the processor to what it attacks where both share one:
 * otherwise a measurement would show what the attackers take from the machine, not what they do to the gateway.
 */
export async function startStrain(strain: Strain): Promise<StrainReport> {
  const child = spawn('nice', ['-n', '19', process.execPath, '--no-warnings', 'test/support/strain.ts'], {
    env: { PATH: process.env['PATH'], STRAIN: JSON.stringify(strain) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  return JSON.parse(await text(child.stdout)) as StrainReport;
}
