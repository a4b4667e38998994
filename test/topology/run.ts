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

/** The result of a scene, in a few lines. */
export function linesOf(kind: OrderStore['kind'], played: ScenePlayed): string {
  const { scene, orders, submits, seconds, figures, faults, violations } = played;
  const count = (fault: string) => violations.filter((violation) => violation.fault === fault).length;
  const told = Object.entries(figures).map(([name, value]) => `${name} ${value}`);
  const first = [
    kind.padEnd(9),
    scene.padEnd(27),
    `orders ${orders}, requests ${submits}`,
    `duplicates ${count('duplicate')}`,
    `false answers ${count('false answer')}`,
    `unfindable ${count('unfindable')}`,
    ...told,
    `${seconds.toFixed(0)} s`,
  ].join('; ');
  const some = violations
    .slice(0, 10)
    .map(({ fault, channelOrderId, what }) => `  ${fault}: ${channelOrderId} ${what}`);
  return [first, ...faults.map((fault) => `  ${fault}`), ...some].join('\n');
}
