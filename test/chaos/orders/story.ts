import type { Story } from '../engine.ts';
import { acts } from './acts.ts';
import type { OrderSizes } from './plan.ts';
import { OrderStage } from './stage.ts';
import { variants } from './variants.ts';

/** Orders while gateways and their store die, and the platform fails: at most once, told truly, found afterwards. */
export const orders: Story<OrderStage, OrderSizes> = {
  command: 'npm run chaos',
  sizes: { ofEach: 3, orders: 6_000, submits: 3, processes: 3, kills: 40, redisKills: 8 },
  set: ({ processes, seed }, { variant }) => OrderStage.set({ processes, seed, variant }),
  acts,
  variants,
};
