import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Runs guard-init as it is shipped, with these options, to its end. */
export async function guardInit(
  environment: Readonly<Record<string, string>>,
  ...options: readonly string[]
): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, ['dist/bundle/guard-init.js', ...options], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  return { code, output };
}

/** The same with `--yes`, as an operator does; resolves to its output, and rejects when it fails. */
export async function confirmStore(environment: Readonly<Record<string, string>>): Promise<string> {
  const { code, output } = await guardInit(environment, '--yes');
  if (code !== 0) throw new Error(`guard-init ended with ${code}: ${output}`);
  return output;
}
