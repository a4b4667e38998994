import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Runs `database-init --yes` with the environment of a gateway, as an operator does; resolves to its output, and rejects when it fails. */
export async function confirmDatabase(environment: Readonly<Record<string, string>>): Promise<string> {
  const program = ['--enable-source-maps', 'dist/bundle/database-init.js', '--yes'];
  const child = spawn(process.execPath, program, {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  if (code !== 0) throw new Error(`database-init ended with ${code}: ${output}`);
  return output;
}
