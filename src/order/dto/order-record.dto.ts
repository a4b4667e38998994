import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { OpenWord, Time } from '../../operation/response-fields.ts';
import { PageDto, PageQuery } from '../../operation/page.dto.ts';
import { orderStates, type State } from '../../order-ledger/ledger-record.ts';
import { type OrderType, orderTypes, type SyncMode, syncModes } from '../../upstream/wire/words.ts';
import { enumeration, type WordOf } from '../../shared/enumeration.ts';
import { Label, Names } from '../../tenancy/names.ts';
import { Int32, TimestampParameter } from '../../validation/scalar-rules.ts';
import { Identifier, InUrl, ListOf, OneOf, Optional, rule, Text } from '../../validation/rules.ts';

const settlements = enumeration(
  'Settlement',
  ['succeeded', 'not_placed'],
  'What an operator found out: the platform placed the order, or it did not',
);

@ApiSchema({
  description: "An item of the gateway's record of an order; the ids are of the platform's result",
})
export class OrderRecordItemDto {
  @ApiProperty({ type: 'integer' })
  sequence!: number;

  @OpenWord(orderTypes)
  orderType!: OrderType;

  /** The enterprise that the item names. */
  enterpriseGlobalId!: string | null;

  /** null where the item was not placed, or its licence order is not known yet. */
  licenseOrderId!: string | null;

  customerId!: string | null;
}

@ApiSchema({ description: "The gateway's record of an order: what was sent, and what became of it" })
export class OrderRecordDto {
  channelCode!: string;

  channelOrderId!: string;

  @OpenWord(orderStates, 'What became of the order')
  state!: State;

  @OpenWord(syncModes)
  syncMode!: SyncMode;

  /** Every item of the order, with its licence order where it is known; empty where the state is `rejected`, `not_sent` or `cancelled`. */
  items!: OrderRecordItemDto[];

  @Time(undefined, 'The time before which the order is not sent; null where it was placed at once')
  notBefore!: string | null;

  @Time(
    undefined,
    'Time of the record, right before the order was sent; while it is `scheduled`, the time of its acceptance, or of the last attempt to send it',
  )
  submittedAt!: string;

  @Time(undefined, 'null while the order is open')
  settledAt!: string | null;

  @ApiProperty({
    description:
      'Why the order was settled: the reason of the operator, what was found at the platform, or what the profile teaches of its code',
  })
  reason!: string | null;
}

export class OrderPath {
  @Identifier({ example: 'crm' })
  @InUrl()
  @Names('channel')
  channelCode!: string;

  @Label({ example: 'SO-2000' })
  @InUrl()
  channelOrderId!: string;
}

export class CancelledOrderPath extends OrderPath {
  @Label({ example: 'SO-2020' })
  override channelOrderId!: string;
}

export class SettledOrderPath extends OrderPath {
  @Label({ example: 'SO-2010' })
  override channelOrderId!: string;
}

const orderSorts = enumeration(
  'OrderSort',
  ['-submittedAt', 'notBefore'],
  '`-submittedAt`, as without it: the newest comes first; `notBefore`: what is due first comes first',
);

export class ListOrdersQuery extends PageQuery {
  @Optional()
  @OneOf(orderStates, { description: 'Only orders in this state' })
  state?: State;

  @Optional()
  @Identifier({ example: 'crm', description: 'Only orders of this channel' })
  @Names('channel')
  channelCode?: string;

  @Optional()
  @Label({
    example: 'SO-2000',
    description:
      'Only the order of this number; with `channelCode`. For a number with a slash, which some proxies decode in a path',
  })
  channelOrderId?: string;

  @Optional()
  @Identifier({ example: 'ent-harbour', description: 'Only orders that name this enterprise in an item' })
  @Names('enterpriseFilter')
  enterpriseGlobalId?: string;

  @Optional()
  @TimestampParameter({ description: 'Only orders submitted at this time or later' })
  submittedAfter?: string;

  @Optional()
  @TimestampParameter({ description: 'Only orders submitted before this time' })
  submittedBefore?: string;

  @Optional()
  @OneOf(orderSorts, { description: 'The order of the items. `notBefore` with `state=scheduled` only' })
  sort?: WordOf<typeof orderSorts>;
}

@ApiSchema({ description: 'One page of records of orders' })
export class OrderPageDto extends PageDto {
  /** The records in the order of `sort`. */
  items!: OrderRecordDto[];
}

@ApiSchema({
  description: 'An item that the platform placed, as the operator found it',
})
export class SettledItemDto {
  @Int32({ example: 1 })
  sequence!: number;

  @Label({ example: '9007199254740993' })
  licenseOrderId!: string;

  @Optional()
  @Label()
  customerId?: string;
}

@ApiSchema({ description: 'What an operator found out about an order whose end is not known' })
export class SettleOrderDto {
  /** What became of the order. */
  @OneOf(settlements)
  as!: 'succeeded' | 'not_placed';

  /** How the operator found out; the record keeps it. */
  @Text({}, { max: 500 })
  reason!: string;

  /** The placed items, where they are known. */
  @Optional()
  @ListOf(() => SettledItemDto, { min: 1, max: 1_000 })
  @rule(
    'placed',
    (_, settlement) => (settlement as SettleOrderDto).as !== 'not_placed',
    'must be left out where nothing was placed',
  )
  @rule('sequences', isEachOnce, 'must name every sequence once')
  items?: SettledItemDto[];
}

function isEachOnce(items: unknown): boolean {
  if (!Array.isArray(items)) return true;
  return new Set((items as SettledItemDto[]).map((item) => item?.sequence)).size === items.length;
}
