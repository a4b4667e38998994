/** What is assigned and lent, and how it comes back when an employee, an asset or a lent lock goes. */
import type { World } from '../call.ts';
import type { Asset } from './records.ts';

/** Withdraws an asset from whom it is assigned to; rights that were lent come back first. */
export function unassign(world: World, asset: Asset): void {
  takeRightsBack(world, asset);
  world.state.assets.change(asset.id, {
    memberGlobalId: null,
    assignTime: null,
    online: false,
    updateTime: world.clock.now(),
  });
}

/** An asset's rights leave the lent lock that they are in; a lock that holds none any more is free. */
export function takeRightsBack({ state, clock }: World, asset: Asset): void {
  const lockId = state.assets.need(asset.id).lentInto;
  if (lockId === null) return;
  const updateTime = clock.now();
  state.assets.change(asset.id, { lentInto: null, updateTime });
  if (state.assets.by('lentInto', lockId).length === 0) {
    state.assets.change(lockId, { lentToMember: null, updateTime });
  }
}

/** All rights in a lent lock go back to their assets, and the lock is free. Nothing happens to an asset that is no such lock. */
export function emptyLock({ state, clock }: World, lock: Asset): void {
  const updateTime = clock.now();
  for (const { id } of state.assets.by('lentInto', lock.id))
    state.assets.change(id, { lentInto: null, updateTime });
  if (state.assets.need(lock.id).lentToMember !== null)
    state.assets.change(lock.id, { lentToMember: null, updateTime });
}
