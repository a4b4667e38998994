import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Runs order-store-init as it is shipped, with these options, to its end. */
export async function orderStoreInit(
  environment: Readonly<Record<string, string>>,
  ...options: readonly string[]
): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, ['dist/bundle/order-store-init.js', ...options], {
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
  const { code, output } = await orderStoreInit(environment, '--yes');
  if (code !== 0) throw new Error(`order-store-init ended with ${code}: ${output}`);
  return output;
}
