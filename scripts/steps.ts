/** Runs commands for the checks: quiet where they succeed, with all that they print where they do not. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';

export interface Step {
  readonly name: string;
  readonly command: readonly string[];
}

/** A script of package.json. */
export const script = (name: string): Step => ({ name, command: ['npm', 'run', '-s', name] });

/** Runs the rows side by side, the steps of each row one after the other. Resolves with the names of the steps that failed. */
export async function runRows(rows: readonly (readonly Step[])[]): Promise<string[]> {
  const failed = await Promise.all(rows.map(runRow));
  return failed.flat();
}

/** A step that fails ends its row: the next ones would fail because of it. */
async function runRow(steps: readonly Step[]): Promise<string[]> {
  for (const step of steps) if (!(await succeeds(step))) return [step.name];
  return [];
}

async function succeeds({ name, command: [program = '', ...args] }: Step): Promise<boolean> {
  const startedAt = performance.now();
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
  const [code] = (await once(child, 'close')) as [number | null];
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
  console.log(`${code === 0 ? 'ok    ' : 'FAILED'} ${name} (${seconds} s)`);
  // The audit also has something to say where it succeeds.
  if (code !== 0 || printed.includes('NOT AUDITED')) console.log(printed.trimEnd());
  return code === 0;
}
