/** Assignments and lending, and their ends when an employee, an asset or a lent lock ends. */
import type { World } from '../call.ts';
import type { Asset } from './records.ts';

/** Withdraws an asset from its employee. Lent rights return first. */
export function unassign(world: World, asset: Asset): void {
  takeRightsBack(world, asset);
  world.state.assets.change(asset.id, {
    memberGlobalId: null,
    assignTime: null,
    online: false,
    updateTime: world.clock.now(),
  });
}

/** Moves an asset's rights out of their lent lock. An empty lock is free. */
export function takeRightsBack({ state, clock }: World, asset: Asset): void {
  const lockId = state.assets.need(asset.id).lentInto;
  if (lockId === null) return;
  const updateTime = clock.now();
  state.assets.change(asset.id, { lentInto: null, updateTime });
  if (state.assets.by('lentInto', lockId).length === 0) {
    state.assets.change(lockId, { lentToMember: null, updateTime });
  }
}

/** Returns all rights in a lent lock to their assets and frees the lock. It does nothing for an asset that is no lent lock. */
export function emptyLock({ state, clock }: World, lock: Asset): void {
  const updateTime = clock.now();
  for (const { id } of state.assets.by('lentInto', lock.id))
    state.assets.change(id, { lentInto: null, updateTime });
  if (state.assets.need(lock.id).lentToMember !== null)
    state.assets.change(lock.id, { lentToMember: null, updateTime });
}
