import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Dialect } from './tasks.ts';

/** The built gateway of another commit, which is measured in turns with this one. */
export interface Tree {
  readonly folder: string;
  /** The command of its `npm start`. */
  readonly start: readonly string[];
  /** The form of its callers' requests. */
  readonly dialect: Dialect;
}

const ASSETS = '/v1/enterprises/{enterpriseGlobalId}/assets';

interface Document {
  readonly paths: Readonly<Record<string, object>>;
}

/**
 * Builds a commit. It uses the packages of this tree if the commit has the same ones, and installs its own otherwise. The tree is removed
 * when the bench ends.
 */
export async function builtTree(commit: string): Promise<Tree> {
  const lock = execFileSync('git', ['show', `${commit}:package-lock.json`], {
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  });
  const isSame = lock === readFileSync('package-lock.json', 'utf8');
  // The folder lies next to the packages, so that they are links and not copies. A commit with packages of its own must not find these.
  const folder = join(resolve(mkdtempSync(isSame ? '.bench-' : join(tmpdir(), 'bench-'))), 'tree');
  const run = (program: string, args: readonly string[], cwd?: string) =>
    execFileSync(program, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] });
  run('git', ['worktree', 'add', '--detach', folder, commit]);
  process.once('exit', () => {
    run('git', ['worktree', 'remove', '--force', folder]);
    rmSync(join(folder, '..'), { recursive: true, force: true });
  });
  const read = (path: string) => readFileSync(join(folder, path), 'utf8');
  if (isSame) run('cp', ['-al', 'node_modules', folder]);
  else run('npm', ['ci', '--no-audit', '--no-fund'], folder);
  run('npm', ['run', '-s', 'build'], folder);
  const { scripts } = JSON.parse(read('package.json')) as { scripts: { start: string } };
  // A start may check first that there is a build, which there is.
  const [command = ''] = scripts.start.split('exec ').slice(-1);
  const [program, ...args] = command.split(' ') as [string, ...string[]];
  const { paths } = JSON.parse(read('config/openapi.json')) as Document;
  const { batch } = (await import(join(folder, 'bench/payloads.ts'))) as Pick<Dialect, 'batch'>;
  return {
    folder,
    start: [program === 'node' ? process.execPath : program, ...args],
    dialect: { batch, pagesAssets: JSON.stringify(paths[ASSETS]).includes('pageSize') },
  };
}
