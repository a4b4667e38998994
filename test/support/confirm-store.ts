import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Runs `guard-init --yes` of the built gateway, as an operator does, and resolves to its output. Rejects when it fails. */
export async function confirmStore(environment: Readonly<Record<string, string>>): Promise<string> {
  const child = spawn(process.execPath, ['dist/order-ledger/guard-init.js', '--yes'], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0) throw new Error(`guard-init ended with ${code}: ${output}`);
  return output;
}
