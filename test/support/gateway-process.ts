import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { dirname, resolve as absolute } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { keep, keepingAnswers, keptFolder } from './canary.ts';
import type { Disturbance } from './disturb.ts';
import { until } from './redis.ts';
import { tell } from './told.ts';

export interface GatewayProcess {
  readonly url: string;
  readonly managementUrl: string;
  readonly child: ChildProcess;
  /** How it ended: its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  /** All its output so far. */
  output(): string;
  /** Resolves once the disturbance has happened; for processes that were started with `disturb`. */
  disturb(what: Disturbance): Promise<void>;
  stop(): Promise<void>;
}

interface How {
  /** Preloads disturb.ts, for {@link GatewayProcess.disturb}. */
  readonly disturbed?: boolean;
  /** The file that is started, if it is not the shipped bundle. */
  readonly file?: string;
  /** The command that starts it, if it is not that of `npm start`. */
  readonly command?: readonly string[];
  /** A control group that it enters first: its number is written into this file. */
  readonly controlGroup?: string;
  /** The folder in which it runs, instead of the repository's. */
  readonly folder?: string | undefined;
  /** Further options of Node. */
  readonly nodeOptions?: string;
  /** The limit of open files. */
  readonly maxFiles?: number;
  /** The file that gets its output, not through this process, so that a measurement is not disturbed. */
  readonly logFile?: string;
}

/** What `sh` runs for `npm start` and in the image. */
export const START_SCRIPT = 'dist/bundle/start.sh';
/** The search path with the Node of this process first. */
export const NODE_PATH = `${dirname(process.execPath)}:${process.env['PATH']}`;

/** A line of the log that an operator would look at. */
const WARNING = /"level":"?(warn|error|fatal|[456]0)\b/;
/** The time is longer than an end takes. */
const GRACE_MS = 45_000;

/** The folder of V8's compiled code, as in the image. */
export const COMPILE_CACHE = absolute('node_modules/.cache/compile');

/** The options of Node with which the timers of the end of a process are `change` of themselves, an expression of `ms`. */
export const withEndTimers = (change: string) =>
  `--import data:text/javascript,${encodeURIComponent(
    `const set=globalThis.setTimeout;globalThis.setTimeout=(f,ms,...a)=>set(f,${change},...a)`,
  )}`;

/** The built gateway as a process of its own; resolves once it listens. */
export async function startGatewayProcess(
  environment: Record<string, string>,
  { disturbed = false, file, command, controlGroup, folder, nodeOptions = '', maxFiles, logFile }: How = {},
): Promise<GatewayProcess> {
  const preload = disturbed
    ? `--import ${pathToFileURL(absolute('test/support/disturb.ts')).href} --no-warnings`
    : '';
  const keeping = keepingAnswers();
  const first = [
    ...(maxFiles === undefined ? [] : [`ulimit -n ${maxFiles}`]),
    ...(controlGroup === undefined ? [] : [`echo $$ > ${controlGroup}`]),
  ];
  const start = [...first, 'exec "$@"'].join(' && ');
  const started = command ?? (file === undefined ? ['sh', START_SCRIPT] : [process.execPath, file]);
  if (started.includes(START_SCRIPT) && !existsSync(absolute(folder ?? '.', START_SCRIPT)))
    throw new Error('The gateway is not built: npm run build');
  const sink = logFile === undefined ? ('pipe' as const) : openSync(logFile, 'a');
  const child = spawn('sh', ['-c', start, 'sh', ...started], {
    env: {
      PATH: NODE_PATH,
      PORT: '0',
      MANAGEMENT_PORT: '0',
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      ...environment,
      ...keeping,
      NODE_OPTIONS: [preload, nodeOptions, environment['NODE_OPTIONS'], keeping['NODE_OPTIONS']].join(' '),
    },
    cwd: folder,
    stdio: ['ignore', sink, sink, 'ipc'],
  });
  if (typeof sink === 'number') closeSync(sink);
  let piped = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    const text = chunk.toString();
    piped += text;
    for (const line of text.split('\n')) if (WARNING.test(line)) tell(line);
  });
  child.stderr?.on('data', (chunk: Buffer) => (piped += chunk.toString()));
  const output = () => (logFile === undefined ? piped : readFileSync(logFile, 'utf8'));
  let isOver = false;
  const ended = new Promise<number | NodeJS.Signals>((resolve) => {
    // The last lines may still be on their way at the exit.
    child.once('close', (code, signal) => {
      isOver = true;
      // A bench's log is longer than a string can be, and no test looks through it.
      if (logFile !== undefined && keptFolder() !== undefined) keep('log-file', readFileSync(logFile));
      resolve(code ?? (signal as NodeJS.Signals));
    });
  });
  const told = () => /^.*"event":"listening".*$/m.exec(output())?.[0];
  await until('the gateway listens', () => told() !== undefined || isOver);
  const line = told();
  if (line === undefined)
    throw new Error(`The gateway ended with ${await ended} before it listened: ${output()}`);
  const listening = JSON.parse(line) as { url: string; managementPort: number };
  return {
    url: listening.url,
    managementUrl: `http://127.0.0.1:${listening.managementPort}`,
    child,
    ended,
    output,
    disturb: async (what) => {
      const done = once(child, 'message');
      child.send(what);
      const end = ended.then((how) => {
        throw new Error(`The gateway ended with ${how} when it was disturbed: ${output()}`);
      });
      await Promise.race([done, end]);
    },
    stop: async () => {
      // SIGTERM would wait for a load balancer.
      child.kill('SIGINT');
      if ((await Promise.race([ended, sleep(GRACE_MS, undefined, { ref: false })])) !== undefined) return;
      // An orchestrator kills the process in the same way: Node itself may hang once all is done (nodejs/node#54918). If the process still
      // serves, the gateway hangs.
      const isServing = await fetch(`${listening.url}/health/live`).then(Boolean, () => false);
      child.kill('SIGKILL');
      await ended;
      if (isServing) throw new Error(`The gateway did not end: ${output()}`);
    },
  };
}
