import { parseArgs } from 'node:util';
import { linesOf, runScenes } from './run.ts';
import { type SceneName, scenes, scenesOn } from './scenes.ts';

/**
 * `npm run topology -- [--store sentinel|cluster|single] [--scene name] [--orders n] [--rounds n]`: every scene on every kind of order
 * store, this many rounds. Exits with 1 on a finding. Needs redis-server, and gcc for the server whose clock steps.
 */
const { values } = parseArgs({
  options: {
    store: { type: 'string' },
    scene: { type: 'string' },
    orders: { type: 'string', default: '40' },
    rounds: { type: 'string', default: '3' },
  },
});
const kinds = ['sentinel', 'cluster', 'single'] as const;
const refuse = (message: string) => {
  process.stderr.write(`${message}\n`);
  process.exit(2);
};
if (values.store !== undefined && !kinds.some((kind) => kind === values.store))
  refuse(`--store is one of ${kinds.join(', ')}`);
if (values.scene !== undefined && !(values.scene in scenes))
  refuse(`--scene is one of ${Object.keys(scenes).join(', ')}`);

let found = 0;
for (const kind of kinds) {
  if (values.store !== undefined && values.store !== kind) continue;
  const chosen = scenesOn(kind).filter((scene) => values.scene === undefined || values.scene === scene);
  if (chosen.length === 0) continue;
  const report = await runScenes(kind, chosen as SceneName[], {
    orders: Number(values.orders),
    rounds: Number(values.rounds),
    onPlayed: (played) => process.stdout.write(`${linesOf(kind, played)}\n`),
  });
  for (const { faults } of report) found += faults.length;
}
process.stdout.write(`${found} violations of what was promised\n`);
process.exitCode = found > 0 ? 1 : 0;
