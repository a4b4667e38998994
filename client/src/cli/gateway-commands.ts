import type { SetMaintenance } from '../licensing.ts';
import { exitCodes } from './output.ts';
import { list, type Runnable, show } from './runnable.ts';

export const gatewayCommands: readonly Runnable[] = [
  {
    name: 'budgets',
    places: [],
    about: 'what is left of the budgets of this month',
    options: {},
    run: async (given, world) => {
      const { budgets } = await world.licensing().callers.me();
      const rows = Object.entries(budgets).map(([budget, each]) => ({ budget, ...each }));
      return list(given, world, ['budget', 'limit', 'used', 'resetsAt'], rows);
    },
  },
  {
    name: 'gaps',
    places: [],
    about: "where the platform's answers depart from its interface",
    options: {},
    run: (given, world) =>
      list(
        given,
        world,
        ['operation', 'path', 'kind', 'count', 'firstSeenAt', 'lastSeenAt'],
        world.licensing().gaps.each(),
      ),
  },
  {
    name: 'maintenance show',
    places: [],
    about: 'what an operator has stopped, and until when',
    options: {},
    run: async (given, world) => show(given, world, await world.licensing().maintenance.get()),
  },
  {
    name: 'maintenance start',
    places: ['<orders|writes|all>'],
    about: 'stops orders, all writes or all calls of the platform for a while, for every caller',
    options: {
      until: { type: 'text', about: 'when it ends by itself, as 2026-11-20T08:00:00Z', required: true },
      from: { type: 'text', about: 'when it begins; else now' },
      reason: { type: 'text', about: 'what callers are told', required: true },
    },
    run: async (given, world) => {
      const { until = '', from, reason = '' } = given.text;
      const [stops] = given.places;
      const window = {
        stops: stops as SetMaintenance['stops'],
        until,
        reason,
        ...(from !== undefined && { from }),
      };
      return show(given, world, await world.licensing().maintenance.set(window));
    },
  },
  {
    name: 'maintenance end',
    places: [],
    about: 'ends it, also where it is to come',
    options: {},
    run: async (_, world) => {
      await world.licensing().maintenance.end();
      return exitCodes.done;
    },
  },
];
