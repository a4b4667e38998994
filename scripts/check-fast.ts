/**
 * `npm run check:fast` runs the checks that are affected by a change since the last commit (or since the given commit): format; lint and
 * types of the changed files and of the files that import them; the affected unit tests; and the comparison of the generated files with the
 * code. `npm test` checks everything.
 */
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { importersOf } from './importers.ts';
import { runRows, script, type Step } from './steps.ts';

const startedAt = performance.now();
const since = process.argv[2] ?? 'HEAD';
const git = (...args: string[]) =>
  execFileSync('git', args, { encoding: 'utf8' }).split('\n').filter(Boolean);
const changed = [...git('diff', '--name-only', since), ...git('ls-files', '--others', '--exclude-standard')];
const files = changed.filter((path) => existsSync(path));
const code = files.filter((path) => path.endsWith('.ts'));
if (changed.length === 0) {
  console.log(`Nothing has changed since ${since}.`);
  process.exit(0);
}
const has = (what: RegExp) => changed.some((path) => what.test(path));

/** The most files that are linted separately. Above this number it takes less time to lint all files. */
const MAX_LINTED = 200;
const everywhere = script('check:lint');
const linted = [...code, ...importersOf(changed, git('ls-files', '--', '*.ts'))];
// The examples import the built client.
const client = has(/^(client\/src|examples)\//) ? ['examples'] : [];
const isEverywhere =
  linted.length > MAX_LINTED || has(/^(package-lock\.json|\.oxlintrc\.json|.*tsconfig.*\.json)$/);
const lint: Step = isEverywhere
  ? everywhere
  : { name: 'lint of what changed', command: ['node_modules/.bin/oxlint', ...linted, ...client] };

const NEST = [process.execPath, 'node_modules/@nestjs/cli/bin/nest.js'];
/** Compiles the changes since the last time. */
const compile: Step = { name: 'compile', command: [...NEST, 'build', '--path', 'tsconfig.dev.json'] };
const generated: Step = {
  name: 'check:generated',
  command: [process.execPath, 'scripts/generate.ts', '--check', '--from', '.dev'],
};
const GENERATED =
  /^(src|config|scripts|client\/src)\/|^docs\/(metrics|readings|figures|bench)\.|^sandbox\/README|^package/;

const RELATED_UNIT_TESTS = '-- --selectProjects unit --passWithNoTests --findRelatedTests'.split(' ');
/** Tests that always run. They read the whole product, so no import relates them to a change. */
const ALWAYS = ['src/operation/openapi/document.spec.ts', 'test/support/house.spec.ts'];
const tests: Step = {
  name: 'unit tests of what changed',
  command: [...script('jest').command, ...RELATED_UNIT_TESTS, ...code, ...ALWAYS],
};

const failed = await runRows([
  [
    script('check:format'),
    ...(client.length > 0 || isEverywhere ? [script('build:client')] : []),
    ...(isEverywhere || linted.length > 0 || client.length > 0 ? [lint] : []),
  ],
  ...(has(GENERATED) ? [[compile, generated]] : []),
  ...(code.length > 0 ? [[tests]] : []),
]);
const seconds = Math.round((performance.now() - startedAt) / 1000);
console.log(
  failed.length > 0 ? `\nFailed: ${failed.join(', ')} (${seconds} s)` : `All in order, in ${seconds} s.`,
);
if (failed.length > 0) process.exit(1);
