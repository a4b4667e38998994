import { playScene, type SceneName, type ScenePlayed } from './scenes.ts';
import type { OrderStore } from './servers.ts';
import { Site } from './site.ts';

interface HowMuch {
  readonly orders: number;
  readonly rounds?: number;
  readonly onPlayed?: (played: ScenePlayed) => void;
}

/** Runs these scenes, one after the other, on one order store of that kind. A scene that does not finish ends the run. */
export async function runScenes(
  kind: OrderStore['kind'],
  scenes: readonly SceneName[],
  { orders, rounds = 1, onPlayed }: HowMuch,
): Promise<readonly ScenePlayed[]> {
  const site = await Site.open(kind);
  const report: ScenePlayed[] = [];
  try {
    for (let round = 1; round <= rounds; round++)
      for (const scene of scenes) {
        const played = await playScene(site, scene, { orders }, round);
        report.push(played);
        onPlayed?.(played);
      }
    return report;
  } finally {
    await site.close();
  }
}

/** The result of a scene, in a few lines, with the command that repeats it. */
export function linesOf(kind: OrderStore['kind'], played: ScenePlayed): string {
  const { scene, orders, submits, seconds, figures, faults } = played;
  const told = Object.entries(figures).map(([name, value]) => `${name} ${value}`);
  const first = [
    kind.padEnd(9),
    scene.padEnd(27),
    `orders ${orders}, requests ${submits}, faults ${faults.length}`,
    ...told,
    `${seconds.toFixed(0)} s`,
  ].join('; ');
  const repeat = `to repeat: npm run topology -- --store ${kind} --scene '${scene}'`;
  return [first, ...faults.slice(0, 20), ...(faults.length > 0 ? [repeat] : [])].join('\n  ');
}
