/** The seed's departments, and the employees and the enterprise that cause the member center's rarer codes. */
import type { World } from '../call.ts';
import { newEmployee, newEnterprise } from './creation.ts';

export const HARBOUR_DEPARTMENTS = [
  { id: '10', name: 'Design' },
  { id: '9007199254741001', name: 'Surveying' },
];

/** Adds Petra, who is employed by two enterprises under one global id, so operation 9 cannot tell which record is meant (60023). */
export function seedPetra(world: World, made: { createTime: number; updateTime: number }): void {
  for (const [enterpriseGlobalId, id] of [
    ['ent-harbour', '3006'],
    ['ent-meridian', '5003'],
  ] as const) {
    newEmployee(world, world.state.enterprises.need(enterpriseGlobalId), {
      ...made,
      account: 'petra',
      globalId: 'mem-shared-petra',
      id,
      userId: '4006',
      name: 'Petra Vogel',
    });
  }
}

/** Adds the fourth company. It has no customer, so its users are bound to none (60017), and no account suffix (40006). */
export function seedTidewater(world: World, made: { createTime: number; updateTime: number }): void {
  const tidewater = newEnterprise(world, {
    ...made,
    globalId: 'ent-tidewater',
    enterpriseId: '3001',
    name: 'Tidewater Drafting',
    suffix: '',
  });
  newEmployee(world, tidewater, {
    ...made,
    account: 'tidewater',
    globalId: 'mem-tidewater-admin',
    id: '6001',
    userId: '6001',
    name: 'Tim Tidewater',
    administrator: true,
  });
}
