/**
 * `npm run check`: the build and every check that runs no test, side by side where one does not need the other's result. `--and-test`, for
 * `npm test`: the tests begin once the build is there, and the checks go on with what they leave of the processors.
 */
import { constants } from 'node:os';
import { runSteps, script, type Step } from './steps.ts';

const isWithTests = process.argv.includes('--and-test');
const TESTS: Step = { ...script('jest', '--', '--selectProjects', 'unit', 'service'), isShown: true };
const check = (name: string): Step =>
  isWithTests ? { ...script(name), priority: constants.priority.PRIORITY_LOW } : script(name);

/** Runs the steps if those before succeed. */
async function after(before: Promise<string[]>[], ...steps: readonly Step[]): Promise<string[]> {
  return (await Promise.all(before)).flat().length > 0 ? [] : runSteps(...steps);
}

const build = runSteps(script('build'));
const client = runSteps(script('build:client'));
const failed = (
  await Promise.all([
    build,
    client,
    after([build], check('check:generated'), check('check:api')),
    // With types: the examples import the built client.
    after([client], check('check:lint')),
    runSteps(...['check:format', 'check:walls', 'check:unused', 'check:audit'].map(check)),
    ...(isWithTests ? [after([build, client], TESTS)] : []),
  ])
).flat();
if (failed.length > 0) {
  console.error(`\nFailed: ${failed.join(', ')}. Each can be repeated alone: npm run ${failed[0]}`);
  process.exit(1);
}
