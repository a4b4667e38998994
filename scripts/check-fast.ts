/**
 * `npm run check:fast`: what one waits for while one works. Format, lint and types, the unit tests that a change since the last commit
 * (or since the commit that is given) touches, and whether the generated files are still those of the code.
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
    script('check:format'),
    // Of all files: what has changed may not fit what uses it. The examples import the built client.
    ...(code.length > 0 ? [script('build:client'), script('check:lint')] : []),
  ],
  ...(isGenerated ? [[script('build'), script('check:generated')]] : []),
  ...(code.length > 0 ? [[tests]] : []),
]);
if (failed.length > 0) {
  console.error(`\nFailed: ${failed.join(', ')}`);
  process.exit(1);
}
