/** The program of the package `@licensing-gateway/sandbox`, as a process that ends with the process of the test. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

const PACKAGE = '@licensing-gateway/sandbox';
const START_MS = 60_000;

/** The output of the program when it is ready. Without a gateway there is only the sandbox. */
interface Started {
  readonly url?: string;
  readonly apiKey?: string;
  readonly managementUrl?: string;
  readonly sandbox: { readonly url: string; readonly password: string };
}

/** The options of the command. Undefined ones are left out. */
type Options = Readonly<Record<string, string | number | true | undefined>>;

export interface Running {
  readonly started: Started;
  readonly stop: () => Promise<void>;
}

/** Starts the program. `asked` is written to its standard input, so that no file is needed. */
export async function runPackage(
  node: string | undefined,
  options: Options,
  asked: object,
): Promise<Running> {
  const child = spawn(
    node ?? process.execPath,
    [program(), ...argumentsOf({ ...options, json: true, stdin: true })],
    {
      env: { PATH: process.env['PATH'] ?? '', ...temporaryFolder() },
      stdio: ['pipe', 'pipe', 'pipe'],
    },
  );
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()));
  // The program may have ended before it read its input. It then says why.
  child.stdin.on('error', () => {});
  // The input stays open. It ends with this process, and the program ends with the input.
  child.stdin.write(`${JSON.stringify(asked)}\n`);
  const started = JSON.parse(await firstLine(child, child.stdout, child.stderr)) as Started;
  const stop = async () => {
    child.kill('SIGINT');
    await gone;
  };
  return { started, stop };
}

/** Returns `--seed=7 --json` for `{ seed: 7, json: true }`. */
function argumentsOf(options: Options): string[] {
  return Object.entries(options).flatMap(([name, value]) => {
    if (value === undefined) return [];
    return value === true ? [`--${name}`] : [`--${name}=${value}`];
  });
}

function program(): string {
  const { resolve } = createRequire(import.meta.url);
  let description: string;
  try {
    description = resolve(`${PACKAGE}/package.json`);
  } catch {
    throw new Error(
      `startGateway() and startSandbox() need the package ${PACKAGE}: npm install --save-dev ${PACKAGE}`,
    );
  }
  const { bin } = JSON.parse(readFileSync(description, 'utf8')) as { bin: Record<string, string> };
  return join(dirname(description), Object.values(bin)[0] ?? '');
}

function temporaryFolder(): Record<string, string> {
  const { TMPDIR } = process.env;
  return TMPDIR === undefined ? {} : { TMPDIR };
}

/** Rejects with the program's output if it ends before it is ready. */
function firstLine(
  child: ChildProcess,
  output: NodeJS.ReadableStream,
  complaints: NodeJS.ReadableStream,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (why: string) => {
      clearTimeout(impatience);
      child.kill('SIGKILL');
      reject(new Error(`${PACKAGE}: ${why}`));
    };
    const impatience = setTimeout(() => fail(`it was not ready within ${START_MS / 1_000} s`), START_MS);
    const texts = { output: '', complaints: '' };
    let isReady = false;
    output.on('data', (chunk: Buffer) => {
      if (isReady) return;
      texts.output += chunk.toString();
      isReady = texts.output.includes('\n');
      if (!isReady) return;
      clearTimeout(impatience);
      resolve(texts.output);
    });
    complaints.on('data', (chunk: Buffer) => {
      if (!isReady) texts.complaints += chunk.toString();
    });
    child.once('error', (error) => fail(`it did not start (${error.message})`));
    child.once('close', (code) => fail(texts.complaints.trim() || `it ended with ${code}`));
  });
}
