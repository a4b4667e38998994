import { playNight } from './run.ts';
import { scenes } from './scenes.ts';

/**
 * `npm run night [-- <words of a scene>]`: a night on call. In each scene one part breaks. The alert of the runbook has to fire on the
 * metrics that were recorded meanwhile (by promtool), its section has to lead to the cause by the console, the log and a trace, and
 * to end the alert when the operator does what it says. Prints a table, and exits with 1 where one of these does not hold.
 */

const words = process.argv.slice(2).join(' ');
const chosen = scenes.filter(({ name, alert }) => `${name} ${alert}`.includes(words));
if (chosen.length === 0) {
  console.error(`no scene has "${words}" in its name or alert`);
  process.exit(2);
}

let played = 0;
for (const scene of chosen) {
  const faults = await playNight(scene);
  if (faults) played++;
  if (faults && faults.length > 0) process.exitCode = 1;
  const how = faults === undefined ? 'not played' : faults.length === 0 ? 'holds     ' : 'FAILS     ';
  console.log(`${how}  ${scene.alert.padEnd(24)}${scene.name}`);
  for (const fault of faults ?? []) console.log(`            ${fault}`);
}
console.log(`${played} of ${chosen.length} scenes were played`);
