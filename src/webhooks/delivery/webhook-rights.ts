import { Injectable } from '@nestjs/common';
import { CallerRegistry } from '../../caller/caller.registry.ts';
import type { Standing } from '../../caller/standing.ts';
import { Maintenance } from '../../maintenance/state/maintenance.ts';
import type { RightsOfOwner, Webhook } from '../store/webhook-record.ts';
import { WebhookStore } from '../store/webhook-store.ts';
import { onBehalfOf } from './delivery-rules.ts';

/** The time within which all replicas read a changed callers file, with a mounted volume of Kubernetes too. */
const SPREAD_MS = 120_000;

/**
 * The rights of the owners of webhooks. Replicas read a changed callers file at different moments. The first replica that reads it records the
 * new rights in the webhook, by the clock of the database. A replica that still has other rights leaves the webhook alone, because it would
 * skip events that the owner may see now, or send events that the owner may not see any more.
 */
@Injectable()
export class WebhookRights {
  constructor(
    private readonly callers: CallerRegistry,
    private readonly store: WebhookStore,
    private readonly maintenance: Maintenance,
  ) {}

  /** Returns the present rights of the owner. Undefined if the owner has lost them, or if this replica does not know them yet. */
  standingOf(webhook: Webhook): Standing | undefined {
    const own = this.callers.rightsOf(webhook.caller);
    if (this.#isBehind(own, webhook.rights)) return undefined;
    const standing = this.callers.standingOf(onBehalfOf(webhook));
    const { rights } = webhook;
    if (!standing?.former || rights?.hash !== own.hash) return standing;
    // The events have the time of the database, too.
    return { ...standing, former: { ...standing.former, until: rights.since } };
  }

  /** True if the owner has lost the rights, also if its entry is gone. Nothing is sent then, and only an operator can change that. */
  hasLost(webhook: Webhook): boolean {
    const own = this.callers.rightsOf(webhook.caller);
    return (
      !this.#isBehind(own, webhook.rights) && this.callers.hasLost(onBehalfOf(webhook), webhook.createdAt)
    );
  }

  /** Records the rights if this replica is the first that has read them. Resolves to the webhook with the rights that count. */
  async recorded(webhook: Webhook): Promise<Webhook> {
    const own = this.callers.rightsOf(webhook.caller);
    const isKnown = ({ rights }: Webhook) =>
      rights !== undefined && (rights.hash === own.hash || rights.readAt >= own.readAt);
    if (isKnown(webhook)) return webhook;
    const changed = await this.store.change(webhook.webhookId, (found) =>
      isKnown(found) ? found : { ...found, rights: { ...own, since: own.readAt } },
    );
    return changed?.webhook ?? webhook;
  }

  /** True if another replica has read other rights after this one has read its own, so that this one is about to read them too. */
  #isBehind(own: Omit<RightsOfOwner, 'since'>, rights: RightsOfOwner | undefined): boolean {
    if (!rights || rights.hash === own.hash || own.readAt > rights.readAt) return false;
    // A replica that never reads those rights, because the file of the other one differs, does not wait for ever.
    return Math.abs(this.maintenance.now - rights.readAt) < SPREAD_MS;
  }
}
