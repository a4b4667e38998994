/** Runs commands for the checks. It prints nothing if they succeed, and all their output if they fail. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';

export interface Step {
  readonly name: string;
  readonly command: readonly string[];
  /** True if its output is shown while it runs. */
  readonly isShown?: boolean;
  /** The priority of its processes, as for `os.setPriority`. */
  readonly priority?: number;
}

/** Returns a step that runs a script of package.json. Node does so in a tenth of the processor time that npm takes. */
export const script = (...args: readonly string[]): Step => ({
  name: args.join(' '),
  command: [process.execPath, '--run', ...args],
});

/** Runs the rows in parallel, and the steps of each row one after the other. Resolves to the names of the steps that failed. */
export async function runRows(rows: readonly (readonly Step[])[]): Promise<string[]> {
  const failed = await Promise.all(rows.map((steps) => runSteps(...steps)));
  return failed.flat();
}

/** Runs steps one after the other, up to the first that fails, because the next ones would fail because of it. */
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
  // The audit also has output if it succeeds.
  if (code !== 0 || printed.includes('NOT AUDITED')) console.log(printed.trimEnd());
  return code === 0;
}
