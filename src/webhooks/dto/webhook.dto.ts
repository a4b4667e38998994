import { applyDecorators } from '@nestjs/common';
import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { CURSOR } from '../../events/log/move-log.ts';
import { eventTypes } from '../../events/event-types.ts';
import { Count, OpenWord, Time } from '../../operation/response-fields.ts';
import { PageDto, PageQuery } from '../../operation/page.dto.ts';
import { enumeration, enumerationSchema } from '../../shared/enumeration.ts';
import { Names } from '../../tenancy/names.ts';
import {
  type FieldDoc,
  Flag,
  IdentifierList,
  OneOf,
  Optional,
  PathId,
  rule,
  Text,
  Word,
} from '../../validation/rules.ts';
import { ALL, errorOf, failingSinceOf, stateOf } from '../delivery/delivery-rules.ts';
import { MAX_URL_LENGTH } from '../delivery/destinations.ts';
import type { Sent } from '../delivery/receivers.ts';
import {
  type Delivery,
  type DeliveryState,
  deliveryStates,
  type OffReason,
  offReasons,
  type WebhookProgress,
  type Webhook,
  type WebhookState,
  webhookStates,
} from '../store/webhook-record.ts';

/** Stands for an id that `createWebhook` returns. */
const EXAMPLE_WEBHOOK = 'example-webhook';
/** A secret, in base64: "not a secret, only an example". scripts/response-examples.ts shows it too. */
const EXAMPLE_SECRET = 'whsec_bm90IGEgc2VjcmV0LCBvbmx5IGFuIGV4YW1wbGU=';
const EXAMPLE_URL = 'http://127.0.0.1:8080/hook';
const MAX_ENTERPRISES = 200;

export class WebhookPath {
  @PathId({ example: EXAMPLE_WEBHOOK })
  @Names('filter')
  webhookId!: string;
}

export class DeliveryPath extends WebhookPath {
  @Word(CURSOR, 'must be the id of an event', { example: '000000000000001' })
  @Names('filter')
  eventId!: string;
}

export class ListDeliveriesQuery extends PageQuery {
  @Optional()
  @OneOf(deliveryStates, { description: 'Only deliveries in this state' })
  state?: DeliveryState;
}

const wantedTypes = enumeration(
  'WantedEventType',
  [...eventTypes.words, ALL],
  'A type of events, or `*` for all of them',
);

/** A list of types of events, each once; or `*` alone for all of them, also for future ones. */
function TypeList(): PropertyDecorator {
  const { words } = wantedTypes;
  const isList = (value: unknown) =>
    Array.isArray(value) &&
    value.length > 0 &&
    new Set(value).size === value.length &&
    value.every((type: unknown) => (words as readonly unknown[]).includes(type)) &&
    (value.length === 1 || !value.includes(ALL));
  return applyDecorators(
    rule('types', isList, `must be ["*"], or a list of different types: ${eventTypes.words.join(', ')}`),
    ApiProperty({
      type: 'array',
      items: enumerationSchema(wantedTypes),
      minItems: 1,
      maxItems: words.length,
      uniqueItems: true,
      description: 'Types of events; `["*"]` stands for all of them, also for those to come',
      example: ['license-order.succeeded'],
    }),
  );
}

/** The URL of the receiver. The service checks more of it. */
function ReceiverUrl(): PropertyDecorator {
  const doc: FieldDoc = {
    description:
      'Where the events are sent: https, or a loopback address, and a host that `WEBHOOK_HOSTS` of the gateway lists',
    example: EXAMPLE_URL,
  };
  const isUnbroken = (value: unknown) => typeof value !== 'string' || !/\s/.test(value);
  return applyDecorators(
    Text(doc, { max: MAX_URL_LENGTH }),
    rule('unbroken', isUnbroken, 'must not have blanks or line ends'),
  );
}

/** A list of enterprises, each once; or `*` alone for all that are granted. */
function EnterpriseList(doc: FieldDoc): PropertyDecorator {
  const isList = (value: unknown) => !Array.isArray(value) || value.length === 1 || !value.includes(ALL);
  return applyDecorators(
    IdentifierList({ min: 1, max: MAX_ENTERPRISES }, doc),
    rule('enterprises', isList, 'must be ["*"], or a list without `*`'),
    Names('enterpriseFilter'),
  );
}

/** Returns undefined for all enterprises that are granted. */
export function chosenEnterprises(given: readonly string[] | undefined): readonly string[] | undefined {
  return given?.includes(ALL) ? undefined : given;
}

class WebhookTerms {
  @Optional()
  @EnterpriseList({
    example: ['ent-harbour'],
    description:
      'Only events of orders, jobs and the estate of these enterprises; `["*"]`, or left out of `createWebhook`: of all that are granted',
  })
  enterprises?: string[];

  /** A text for people. */
  @Optional()
  @Text({ example: 'billing' }, { max: 200 })
  description?: string;
}

@ApiSchema({ description: 'A receiver of events' })
export class CreateWebhookDto extends WebhookTerms {
  @ReceiverUrl()
  url!: string;

  @TypeList()
  types!: string[];
}

@ApiSchema({ description: 'What changes; fields that are left out stay as they are' })
export class UpdateWebhookDto extends WebhookTerms {
  @Optional()
  @ReceiverUrl()
  url?: string;

  @Optional()
  @TypeList()
  types?: string[];

  /** Whether events are sent. A webhook that is switched on gets what it missed in the last 7 days. */
  @Optional()
  @Flag()
  enabled?: boolean;
}

@ApiSchema({ description: 'A receiver of events, and how its deliveries go' })
export class WebhookDto {
  webhookId!: string;
  /** The URL to which the events are sent. */
  url!: string;
  /** Types of events; `*` stands for all of them. */
  types!: string[];
  /** Null: all enterprises that are granted. */
  enterprises!: string[] | null;
  /** A text for people; null where its owner gave none. */
  description!: string | null;
  /** Whether events are sent. */
  enabled!: boolean;
  @OpenWord(webhookStates, 'How the deliveries go')
  state!: WebhookState;
  /** Why nothing is delivered; null while the webhook is on. */
  @OpenWord(offReasons, 'Why it is off; null while it is on')
  offReason!: OffReason | null;
  @Time()
  createdAt!: string;
  @Time(undefined, 'When a delivery was taken last')
  lastDeliveredAt!: string | null;
  @Time(undefined, 'Since when no delivery was taken; null where the last one was, or where none waits')
  failingSince!: string | null;
  @Count('Deliveries that wait')
  pending!: number;
}

@ApiSchema({ description: 'A webhook with its secret' })
export class WebhookWithSecretDto extends WebhookDto {
  /** The secret that signs deliveries (Standard Webhooks). It is shown once: a repeated request has null. */
  @ApiProperty({ type: String, nullable: true, example: EXAMPLE_SECRET })
  secret!: string | null;
}

@ApiSchema({ description: 'One page of webhooks' })
export class WebhookPageDto extends PageDto {
  items!: WebhookDto[];
}

@ApiSchema({ description: 'What `testWebhook` sends to a receiver: CloudEvents 1.0, structured JSON' })
export class TestEventDto {
  /** The version of CloudEvents. */
  @ApiProperty({ type: String, enum: ['1.0'] })
  specversion!: '1.0';
  /** The id of this event alone. */
  id!: string;
  /** The path of webhooks. */
  source!: string;
  /** The type of this event, which no other event has. */
  @ApiProperty({ type: String, enum: ['webhook.test'] })
  type!: 'webhook.test';
  /** The id of the webhook. */
  subject!: string;
  @Time(undefined, 'When it was sent')
  time!: string;
  /** The media type of `data`. */
  @ApiProperty({ type: String, enum: ['application/json'] })
  datacontenttype!: 'application/json';
  /** An empty object. */
  @ApiProperty({ type: 'object', properties: {}, additionalProperties: false })
  data!: object;
}

@ApiSchema({ description: 'What became of one delivery' })
export class TestDeliveryDto {
  /** The HTTP status of the receiver; null where it did not answer. */
  @ApiProperty({ type: 'integer', nullable: true })
  status!: number | null;
  @Count('From the beginning to the end of the answer, in ms')
  durationMs!: number;
  /** Why the receiver did not accept the event; null where it did. */
  error!: string | null;
}

@ApiSchema({ description: 'One event for one webhook' })
export class DeliveryDto {
  @ApiProperty({ pattern: CURSOR.source })
  eventId!: string;
  @OpenWord(eventTypes, 'The type of the event')
  type!: string;
  /** The subject of the event; null where the event is not kept any more. */
  subject!: string | null;
  @OpenWord(deliveryStates, 'What became of it')
  state!: DeliveryState;
  @Count('How often it was sent since it was made or, after `redeliver`, begun anew')
  attempts!: number;
  /** The HTTP status of the receiver; null where it did not answer. */
  @ApiProperty({ type: 'integer', nullable: true })
  lastStatus!: number | null;
  /** Why the receiver did not accept the event; null where it did, or where the event was not sent yet. */
  lastError!: string | null;
  @Time(undefined, 'When it was sent last; null where it was not sent yet')
  lastAttemptAt!: string | null;
  @Time(
    undefined,
    'When it is sent next, once the earlier events of its subject were taken; null where it is not sent any more, and while the webhook is off',
  )
  nextAttemptAt!: string | null;
}

@ApiSchema({ description: 'One page of deliveries, newest events first' })
export class DeliveryPageDto extends PageDto {
  items!: DeliveryDto[];
}

export function webhookLocation(result: unknown): string | undefined {
  return `/v1/webhooks/${(result as WebhookDto).webhookId}`;
}

const timeOf = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

export function toWebhook(webhook: Webhook, progress: WebhookProgress | undefined): WebhookDto {
  const { webhookId, url, types, enterprises, description, offReason, createdAt } = webhook;
  return {
    ...{ webhookId, url, types: [...types], enterprises: enterprises ? [...enterprises] : null, description },
    enabled: offReason === null,
    state: stateOf(webhook, progress),
    offReason,
    createdAt: new Date(createdAt).toISOString(),
    lastDeliveredAt: timeOf(progress?.lastDeliveredAt ?? null),
    failingSince: timeOf(failingSinceOf(webhook, progress)),
    pending: progress?.pending ?? 0,
  };
}

export function toDelivery(
  webhook: Webhook,
  eventId: string,
  subject: string | null,
  delivery: Delivery,
): DeliveryDto {
  const { type, state, attempts, lastStatus, lastError, lastAttemptAt, nextAttemptAt } = delivery;
  return {
    ...{ eventId, type, subject, state, attempts, lastStatus, lastError },
    lastAttemptAt: timeOf(lastAttemptAt),
    nextAttemptAt: timeOf(webhook.offReason === null ? nextAttemptAt : null),
  };
}

export function toTestDelivery(sent: Sent): TestDeliveryDto {
  return { status: sent.status, durationMs: sent.durationMs, error: errorOf(sent) };
}
