/** `npm run check`: the build and every check that runs no test, side by side where one does not need the other's result. */
import { runRows, script } from './steps.ts';

const failed = await runRows([
  ['build', 'check:generated', 'check:api'].map(script),
  ['build:client', 'check:types', 'check:lint'].map(script),
  ['check:format', 'check:walls', 'check:unused', 'check:audit'].map(script),
]);
if (failed.length > 0) {
  console.error(`\nFailed: ${failed.join(', ')}. Each can be repeated alone: npm run ${failed[0]}`);
  process.exit(1);
}
