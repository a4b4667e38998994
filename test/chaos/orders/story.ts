import type { Story } from '../engine.ts';
import { acts } from './acts.ts';
import { databaseActs } from './database-acts.ts';
import type { OrderSizes } from './plan.ts';
import { OrderStage } from './stage.ts';
import { variants } from './variants.ts';

const FILE = 'file-killed';

/** Orders while gateways and their database die, and the platform fails: at most once, told truly, found afterwards. */
export const orders: Story<OrderStage, OrderSizes> = {
  command: 'npm run chaos',
  sizes: {
    ...{ ofEach: 3, orders: 6_000, submits: 3, processes: 3, kills: 40, fileKills: 500 },
    ...{ databaseKills: 8, restarts: 4, cuts: 20, redisKills: 4 },
  },
  placeOf: (act) => (act === FILE ? 'file' : ''),
  set: ({ processes, seed }, { variant, place }) => {
    const isBroken = variant === undefined || variants[variant as keyof typeof variants].act in databaseActs;
    const kind = place === 'file' ? 'file' : isBroken ? 'server' : 'shared';
    return OrderStage.set({ processes, seed, variant, kind });
  },
  acts,
  variants,
};
