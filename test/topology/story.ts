import type { Act, Sizes, Story } from '../chaos/engine.ts';
import { feedFaults } from '../chaos/orders/feed.ts';
import { scenes } from './scenes.ts';
import { type Kind, kinds } from './servers.ts';
import { Site } from './site.ts';

interface TopologySizes extends Sizes {
  /** On each side of the event. */
  readonly orders: number;
  readonly rounds: number;
  readonly gateways: number;
}

/** Orders while an order store of several servers fails: real servers with TLS and users, in each form of ORDER_REDIS_URL. */
export const topology: Story<Site, TopologySizes> = {
  command: 'npm run topology',
  sizes: { orders: 40, rounds: 3, gateways: 3 },
  set: ({ gateways }, { place }) => Site.open(place as Kind, gateways),
  placeOf: (act) => act.replace(/:.*/, ''),
  acts: Object.fromEntries(
    kinds.flatMap((kind) =>
      Object.entries(scenes)
        .filter(([, [on]]) => on.includes(kind))
        .map(([scene]) => [`${kind}: ${scene}`, actOf(kind, scene)]),
    ),
  ),
  variants: {},
};

function actOf(kind: Kind, scene: string): Act<Site, TopologySizes> {
  const [, play] = scenes[scene] as (typeof scenes)[string];
  return async (site, { orders, rounds }) => {
    const found: string[] = [];
    for (let round = 1; round <= rounds; round++) {
      const name = `${kind}-${scene.replaceAll(' ', '-')}-${round}`;
      const { faults = [], lost = false } = await play(site, name, orders).catch(async (error: unknown) => {
        throw new Error(`${String(error)}\n${await site.account()}`, { cause: error });
      });
      // A gateway that could not reach the store may know of a success that is in doubt there.
      const judged = await site.desk.judge({ forgetful: true, lost });
      site.count(`${name}: orders`, judged.orders);
      // What a store has lost has no events.
      const untold = lost ? [] : await feedFaults(site.fleet, site.hook);
      found.push(...faults, ...judged.faults, ...untold);
    }
    return found;
  };
}
