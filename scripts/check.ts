/**
 * `npm run check` runs the build and every check that runs no test, in parallel if one does not need the other's result. `--and-test`, for
 * `npm test`, starts the tests once the build is ready, and the checks go on with the rest of the processors.
 */
import { constants } from 'node:os';
import { runSteps, script, type Step } from './steps.ts';

const isWithTests = process.argv.includes('--and-test');
const TESTS: Step = { ...script('jest', '--', '--selectProjects', 'unit', 'service'), isShown: true };
const check = (name: string): Step =>
  isWithTests ? { ...script(name), priority: constants.priority.PRIORITY_LOW } : script(name);

/** Runs the steps if the steps before them succeed. */
async function after(before: Promise<string[]>[], ...steps: readonly Step[]): Promise<string[]> {
  return (await Promise.all(before)).flat().length > 0 ? [] : runSteps(...steps);
}

const build = runSteps(script('build'));
const client = runSteps(script('build:client'));
const failed = (
  await Promise.all([
    build,
    client,
    // The check of generated files runs a gateway, which starves at the low priority of the other checks.
    after([build], script('check:generated'), script('check:api')),
    // Lint reads types, and the examples import the built client.
    after([client], check('check:lint')),
    runSteps(...['check:format', 'check:walls', 'check:unused', 'check:audit'].map(check)),
    ...(isWithTests ? [after([build, client], TESTS)] : []),
  ])
).flat();
if (failed.length > 0) {
  console.error(`\nFailed: ${failed.join(', ')}. Each can be repeated alone: npm run ${failed[0]}`);
  process.exit(1);
}
