/** Runs commands for the checks: quiet where they succeed, with all that they print where they do not. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';

export interface Step {
  readonly name: string;
  readonly command: readonly string[];
  /** Its output is shown while it runs. */
  readonly isShown?: boolean;
  /** Of its processes, as of `os.setPriority`. */
  readonly priority?: number;
}

/** A script of package.json. */
export const script = (...args: readonly string[]): Step => ({
  name: args.join(' '),
  command: ['npm', 'run', '-s', ...args],
});

/** Runs the rows side by side, the steps of each row one after the other. Resolves with the names of the steps that failed. */
export async function runRows(rows: readonly (readonly Step[])[]): Promise<string[]> {
  const failed = await Promise.all(rows.map((steps) => runSteps(...steps)));
  return failed.flat();
}

/** Runs one after the other. The first that fails is the last: the next ones would fail because of it. */
export async function runSteps(...steps: readonly Step[]): Promise<string[]> {
  for (const step of steps) if (!(await succeeds(step))) return [step.name];
  return [];
}

async function succeeds({
  name,
  command: [program = '', ...args],
  isShown = false,
  priority,
}: Step): Promise<boolean> {
  const startedAt = performance.now();
  const output = isShown ? 'inherit' : 'pipe';
  const child = spawn(program, args, { stdio: ['ignore', output, output] });
  if (priority !== undefined && child.pid !== undefined) setPriority(child.pid, priority);
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const [code] = (await once(child, 'close')) as [number | null];
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`);
  // The audit also has something to say where it succeeds.
  if (code !== 0 || printed.includes('NOT AUDITED')) console.log(printed.trimEnd());
  return code === 0;
}
