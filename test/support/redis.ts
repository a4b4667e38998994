import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface RunningRedis {
  readonly url: string;
  readonly port: number;
  readonly process: ChildProcess;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
  /** As a crash would. */
  kill9(): Promise<void>;
}

/** A real redis-server on a free port with a folder of its own; `args` are further settings such as `--maxmemory 1mb`. */
export async function startRedis(args: readonly string[] = []): Promise<RunningRedis> {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), 'redis-test-'));
  const child = spawn('redis-server', ['--port', String(port), '--dir', folder, '--save', '', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`redis-server ended with ${code}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.includes('Ready to accept connections')) resolve();
    });
  });
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  };
  return {
    url: `redis://127.0.0.1:${port}`,
    port,
    process: child,
    kill9: () => end('SIGKILL'),
    stop: async () => {
      await end('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
