import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface GatewayProcess {
  readonly url: string;
  /** Everything it has printed so far. */
  output(): string;
  stop(): Promise<void>;
}

/** The built gateway as a process of its own; resolves once it listens. */
export async function startGatewayProcess(environment: Record<string, string>): Promise<GatewayProcess> {
  const child = spawn(process.execPath, ['dist/main.js'], {
    env: { PATH: process.env['PATH'], PORT: '0', MANAGEMENT_PORT: '0', ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', () => reject(new Error(output)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (!line.includes('"event":"listening"')) return;
      resolve((JSON.parse(line) as { url: string }).url);
    });
  });
  return { url, output: () => output, stop: () => stop(child) };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  // SIGTERM waits for a load balancer first.
  child.kill('SIGINT');
  await gone;
}
