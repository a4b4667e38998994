import { randomBytes, randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { CallContext } from '../request/call-context.ts';
import { CallerRegistry } from '../caller/caller.registry.ts';
import { DatabaseUnavailable } from '../database/database-unavailable.ts';
import { EventsService } from '../events/events.service.ts';
import { Maintenance } from '../maintenance/state/maintenance.ts';
import { LimitPerKey } from '../kit/limit-per-key/limit-per-key.ts';
import { pageOf, type PageQuery, pageWith } from '../operation/page.dto.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { onBehalfOf } from './delivery/delivery-rules.ts';
import { Destinations } from './delivery/destinations.ts';
import { MAX_TO_ONE, Receivers } from './delivery/receivers.ts';
import { formerOf, newWebhookSecret } from './delivery/signature.ts';
import {
  chosenEnterprises,
  type CreateWebhookDto,
  type DeliveryPageDto,
  type ListDeliveriesQuery,
  type TestDeliveryDto,
  type TestEventDto,
  toDelivery,
  toTestDelivery,
  toWebhook,
  type UpdateWebhookDto,
  type WebhookDto,
  webhookLocation,
  type WebhookPageDto,
  type WebhookWithSecretDto,
} from './dto/webhook.dto.ts';
import {
  deliveryStates,
  type EarlierWish,
  type StoredWebhook,
  type Webhook,
} from './store/webhook-record.ts';
import { type ReadWebhook, WebhookStore } from './store/webhook-store.ts';

type Caller = CallContext['caller'];

const MAX_OF_CALLER = 20;
const TESTED = { detail: `${MAX_TO_ONE} tests of this webhook have no answer yet.`, retryAfter: 1 };
/** The time that a receiver has to learn a new secret. */
const FORMER_SECRET_MS = 24 * 3_600_000;
/** The most former secrets that sign. More rotations within a day drop the oldest. */
const MAX_FORMER = 3;
/** The most changes of what a webhook wants that count for events from before them. More changes drop the oldest. */
const MAX_WISHES = 20;

/** Manages a caller's own webhooks. The webhooks of other callers do not exist for it. */
@Injectable()
export class WebhooksService {
  readonly #tests = new LimitPerKey(MAX_TO_ONE);

  constructor(
    private readonly store: WebhookStore,
    private readonly events: EventsService,
    private readonly destinations: Destinations,
    private readonly receivers: Receivers,
    private readonly callers: CallerRegistry,
    private readonly maintenance: Maintenance,
  ) {}

  async create({ caller: { name } }: CallContext, terms: CreateWebhookDto): Promise<WebhookWithSecretDto> {
    this.#assertOn();
    this.#assertCallable(terms.url);
    const { url, types, description = null } = terms;
    const enterprises = chosenEnterprises(terms.enterprises);
    const webhook: Webhook = {
      webhookId: randomBytes(16).toString('base64url').replace(/^-/, '_'),
      ...{ caller: name, byToken: !this.callers.standingOf(onBehalfOf({ caller: name })) },
      ...{ url, types, enterprises, description, offReason: null },
      // The webhook gets no event from before it was made, so no former rights count.
      rights: { ...this.callers.rightsOf(name), since: 0 },
      ...{ createdAt: this.maintenance.now, enabledAt: 0, secret: newWebhookSecret() },
    };
    const cursor = await this.events.newest();
    const isAdded = await this.store
      .add(webhook, cursor, MAX_OF_CALLER)
      .catch((error: unknown) => inDoubt(error, unknownWebhook(webhook), webhookLocation(webhook)));
    if (!isAdded) throw new ProblemException('too-many-webhooks');
    return { ...toWebhook(webhook, undefined), secret: webhook.secret };
  }

  async list({ name }: Caller, query: PageQuery): Promise<WebhookPageDto> {
    const own = await this.store.ofCaller(name);
    const page = pageOf(
      own.toSorted((one, other) => other.webhook.createdAt - one.webhook.createdAt),
      query,
    );
    return { ...page, items: page.items.map(shown) };
  }

  async get(caller: Caller, webhookId: string): Promise<WebhookDto> {
    return shown(await this.#own(caller, webhookId));
  }

  async update({ caller }: CallContext, webhookId: string, change: UpdateWebhookDto): Promise<WebhookDto> {
    const { enabled, ...terms } = change;
    if (terms.url !== undefined) this.#assertCallable(terms.url);
    const { webhook: before } = await this.#own(caller, webhookId);
    if (enabled === true && before.offReason !== null) this.#assertOn();
    const given = Object.entries(terms).filter(([, value]) => value !== undefined);
    const isForOthers = terms.types !== undefined || terms.enterprises !== undefined;
    const until = isForOthers ? await this.events.newest() : '';
    const after = await this.store.change(webhookId, (webhook, { cursor }, now) => {
      const isSwitchedOn = enabled === true && webhook.offReason !== null;
      const isMoved = terms.url !== undefined && terms.url !== webhook.url;
      return {
        ...webhook,
        ...Object.fromEntries(given),
        ...(terms.enterprises && { enterprises: chosenEnterprises(terms.enterprises) }),
        ...(isForOthers && { before: earlierWishes(webhook, cursor, until) }),
        ...(enabled === false && { offReason: webhook.offReason ?? 'by-request' }),
        ...(isSwitchedOn && { offReason: null }),
        ...((isSwitchedOn || isMoved) && { enabledAt: now }),
      };
    });
    if (!after) throw new ProblemException('webhook-not-found');
    return shown(after);
  }

  async rotateSecret({ caller }: CallContext, webhookId: string): Promise<WebhookWithSecretDto> {
    await this.#own(caller, webhookId);
    const rotated = (webhook: Webhook, _: unknown, now: number): Webhook => {
      const former = { secret: webhook.secret, until: now + FORMER_SECRET_MS };
      const earlier = formerOf(webhook, now).slice(0, MAX_FORMER - 1);
      return { ...webhook, secret: newWebhookSecret(), former, earlier };
    };
    const after = await this.store
      .change(webhookId, rotated)
      .catch((error: unknown) => inDoubt(error, UNKNOWN_SECRET, webhookLocation({ webhookId })));
    if (!after) throw new ProblemException('webhook-not-found');
    return { ...shown(after), secret: after.webhook.secret };
  }

  /** Sends one event of type `webhook.test` at once, whatever the state of the webhook is. */
  async test({ caller }: CallContext, webhookId: string): Promise<TestDeliveryDto> {
    this.#assertOn();
    const { webhook, now } = await this.#own(caller, webhookId);
    this.#assertCallable(webhook.url);
    const event: TestEventDto = {
      ...{ specversion: '1.0', id: `test-${randomUUID()}`, source: '/v1/webhooks', type: 'webhook.test' },
      ...{
        subject: webhookId,
        time: new Date().toISOString(),
        datacontenttype: 'application/json',
        data: {},
      },
    };
    if (this.#tests.isFull(webhookId)) throw new ProblemException('too-many-requests', TESTED);
    return toTestDelivery(
      await this.#tests.run(webhookId, () => this.receivers.post(webhook, event, { now })),
    );
  }

  async deliveries(caller: Caller, webhookId: string, query: ListDeliveriesQuery): Promise<DeliveryPageDto> {
    const { webhook } = await this.#own(caller, webhookId);
    const { page, pageSize, state } = query;
    const states = state === undefined ? deliveryStates.words : [state];
    const { found, total } = await this.store.deliveries(webhookId, states, (page - 1) * pageSize, pageSize);
    const subjects = await this.events.subjects([...found.keys()], { grants: caller.grants });
    const items = Array.from(found, ([id, delivery]) =>
      toDelivery(webhook, id, subjects.get(id) ?? null, delivery),
    );
    return pageWith(items, total, query);
  }

  async redeliver({ caller }: CallContext, webhookId: string, eventId: string): Promise<void> {
    this.#assertOn();
    const { webhook } = await this.#own(caller, webhookId);
    // A delivery may be kept for longer than its event, and the caller may have lost the right to see the event.
    const { grants } = this.callers.standingOf(onBehalfOf(webhook)) ?? caller;
    const isThere =
      (await this.store.delivery(webhookId, eventId)) && (await this.events.one(eventId, { grants }));
    if (!isThere)
      throw new ProblemException('webhook-not-found', {
        detail: 'The webhook has no delivery of this event, or the event is not kept any more.',
      });
    await this.store.redeliver(webhookId, eventId);
  }

  async remove({ caller }: CallContext, webhookId: string): Promise<void> {
    await this.#own(caller, webhookId);
    await this.store.remove(webhookId);
  }

  async #own({ name }: Caller, webhookId: string): Promise<ReadWebhook> {
    const found = await this.store.find(webhookId);
    if (found?.webhook.caller !== name) throw new ProblemException('webhook-not-found');
    return found;
  }

  #assertOn(): void {
    if (this.destinations.isOff) throw new ProblemException('webhooks-off');
  }

  #assertCallable(url: string): void {
    const detail = this.destinations.refusalOf(url);
    if (detail !== undefined)
      throw new ProblemException('validation-failed', { errors: [{ pointer: '/url', detail }] });
  }
}

/** What the webhook wants so far counts up to the event `until`. The events of a wish that has been collected to its end are not needed. */
function earlierWishes(
  { types, enterprises, before = [] }: Webhook,
  cursor: string,
  until: string,
): readonly EarlierWish[] {
  const open = before.filter((wish) => wish.until > cursor);
  return [...open, { types, enterprises, until }].slice(-MAX_WISHES);
}

function unknownWebhook({ webhookId }: Webhook): string {
  return (
    `The database of the gateway did not say whether the webhook ${webhookId} was made. If \`getWebhook\` finds it, ` +
    '`rotateWebhookSecret` shows a secret of it. If it is not there after a minute, make another, with another `Idempotency-Key`.'
  );
}

const UNKNOWN_SECRET =
  'The database of the gateway did not say whether the webhook has a new secret. If it has, the former one signs too for 24 hours. ' +
  'Call `rotateWebhookSecret` again, with another `Idempotency-Key`, to get a secret.';

/** Throws the error. If the database did not say whether it has done the write, the problem says so. */
function inDoubt(error: unknown, detail: string, location?: string): never {
  if (!(error instanceof DatabaseUnavailable && error.isAway)) throw error;
  throw new ProblemException('outcome-unknown', { detail, location, cause: error });
}

function shown({ webhook, progress }: StoredWebhook): WebhookDto {
  return toWebhook(webhook, progress);
}
