/**
 * `npm run check:fast`: format, lint and types of what has changed since the last commit (or since the commit that is given), the unit tests
 * that it touches, and whether the generated files are still those of the code.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { runRows, script, type Step } from './steps.ts';

const since = process.argv[2] ?? 'HEAD';
const git = (...args: string[]) =>
  execFileSync('git', args, { encoding: 'utf8' }).split('\n').filter(Boolean);
const changed = [...git('diff', '--name-only', since), ...git('ls-files', '--others', '--exclude-standard')];
const files = changed.filter((path) => existsSync(path));
const code = files.filter((path) => path.endsWith('.ts'));
if (files.length === 0) {
  console.log(`Nothing has changed since ${since}.`);
  process.exit(0);
}

const bin = (name: string, ...args: string[]) => ['npx', '--no-install', name, ...args];
/** The programs of tsc that a file belongs to, by the beginning of its path. */
const PROGRAMS: readonly (readonly [beginning: string, folder: string])[] = [
  ['src/', 'test'],
  ['test/', 'test'],
  ['sandbox/', 'sandbox'],
  ['scripts/', 'test'],
  ['bench/', 'test'],
  ['client/src/', 'client'],
  ['client/test/', 'test'],
  ['examples/', 'examples/billing-service'],
];
const programs = new Set(
  code.flatMap((path) =>
    PROGRAMS.filter(([beginning]) => path.startsWith(beginning)).map(([, folder]) => folder),
  ),
);
const typesOf = (folder: string): Step => {
  const kept = `node_modules/.cache/types-${folder.replaceAll('/', '-')}`;
  return {
    name: `types of ${folder}`,
    command: bin('tsc', '-p', folder, '--noEmit', '--incremental', '--tsBuildInfoFile', kept),
  };
};
const RELATED_UNIT_TESTS = '-- --selectProjects unit --passWithNoTests --findRelatedTests'.split(' ');
/** They read all of the product, so nothing that changes is related to them. */
const ALWAYS = ['src/operation/openapi/document.spec.ts', 'test/support/house.spec.ts'];
const tests: Step = {
  name: 'unit tests of what changed',
  command: [...script('jest').command, ...RELATED_UNIT_TESTS, ...code, ...ALWAYS],
};
const isGenerated = files.some((path) => /^(src|config|docs|client\/src|test\/faults)\//.test(path));

const failed = await runRows([
  [
    { name: 'format', command: bin('prettier', '--check', '--ignore-unknown', ...files) },
    ...(code.length > 0 ? [{ name: 'lint', command: bin('oxlint', ...code) }] : []),
    ...[...programs].map(typesOf),
  ],
  ...(isGenerated ? [[script('build'), script('check:generated')]] : []),
  ...(code.length > 0 ? [[tests]] : []),
]);
if (failed.length > 0) {
  console.error(`\nFailed: ${failed.join(', ')}`);
  process.exit(1);
}
