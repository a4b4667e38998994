import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve as absolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createInterface } from 'node:readline';
import { keepingAnswers } from './canary.ts';
import type { Disturbance } from './disturb.ts';

export interface GatewayProcess {
  readonly url: string;
  readonly managementUrl: string;
  readonly child: ChildProcess;
  /** How it ended: its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  /** Everything it has printed so far. */
  output(): string;
  /** Resolves once it has happened; for processes that were started to be disturbed. */
  disturb(what: Disturbance): Promise<void>;
  stop(): Promise<void>;
}

interface How {
  /** It understands {@link GatewayProcess.disturb}. */
  readonly disturbed?: boolean;
  /** Further options of Node. */
  readonly nodeOptions?: string;
  /** Open files at most. */
  readonly maxFiles?: number;
}

/** The built gateway as a process of its own; resolves once it listens. */
export async function startGatewayProcess(
  environment: Record<string, string>,
  { disturbed = false, nodeOptions = '', maxFiles }: How = {},
): Promise<GatewayProcess> {
  const preload = disturbed
    ? `--import ${pathToFileURL(absolute('test/support/disturb.ts')).href} --no-warnings`
    : '';
  const keeping = keepingAnswers();
  const start = maxFiles === undefined ? 'exec "$@"' : `ulimit -n ${maxFiles} && exec "$@"`;
  const child = spawn('sh', ['-c', start, 'sh', process.execPath, 'dist/main.js'], {
    env: {
      PATH: process.env['PATH'],
      PORT: '0',
      MANAGEMENT_PORT: '0',
      ...environment,
      ...keeping,
      NODE_OPTIONS: [preload, nodeOptions, environment['NODE_OPTIONS'], keeping['NODE_OPTIONS']].join(' '),
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let output = '';
  child.stdout?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr?.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? (signal as NodeJS.Signals)));
  });
  const listening = await new Promise<{ url: string; managementPort: number }>((resolve, reject) => {
    void ended.then(() => reject(new Error(output)));
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (line) => {
      if (line.includes('"event":"listening"')) resolve(JSON.parse(line) as never);
    });
  });
  return {
    url: listening.url,
    managementUrl: `http://127.0.0.1:${listening.managementPort}`,
    child,
    ended,
    output: () => output,
    disturb: async (what) => {
      const done = once(child, 'message');
      child.send(what);
      await done;
    },
    stop: async () => {
      // SIGTERM waits for a load balancer first.
      child.kill('SIGINT');
      await ended;
    },
  };
}
