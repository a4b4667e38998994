import { ApiExtraModels, ApiProperty, ApiSchema, getSchemaPath } from '@nestjs/swagger';
import { EstateRowDto } from '../../estate/estate.dto.ts';
import { JobDto } from '../../jobs/dto/job.dto.ts';
import { OpenWord, Time } from '../../operation/response-fields.ts';
import { OrderRecordDto } from '../../order/dto/order-record.dto.ts';
import { CURSOR } from '../log/move-log.ts';
import { Names } from '../../tenancy/names.ts';
import { ListParameter, WholeNumberParameter } from '../../validation/scalar-rules.ts';
import { Identifier, Optional, Word } from '../../validation/rules.ts';
import { type EventType, eventTypes } from '../event-types.ts';

const EXAMPLE_CURSOR = '000000000000001';

/** What every reader of events may ask for. */
export class WatchEventsQuery {
  @Optional()
  @Word(CURSOR, `must be a cursor: the id of an event, or \`next\`, such as ${EXAMPLE_CURSOR}`, {
    example: EXAMPLE_CURSOR,
    description: 'Only events after this one: its id, or `next` of a page',
  })
  after?: string;

  @Optional()
  @ListParameter(eventTypes, {
    description: 'Only events of these types, separated by commas',
    example: ['license-order.succeeded'],
  })
  type?: readonly EventType[];

  @Optional()
  @Identifier({
    example: 'ent-harbour',
    description: 'Only events of orders, jobs and the estate of this enterprise',
  })
  @Names('enterpriseFilter')
  enterpriseGlobalId?: string;
}

export class ListEventsQuery extends WatchEventsQuery {
  /** How many events a page has at most. */
  @Optional()
  @WholeNumberParameter(1, 1_000)
  limit: number = 100;
}

@ApiExtraModels(OrderRecordDto, JobDto, EstateRowDto)
@ApiSchema({
  description: 'What became of an order, a job or a row of the estate: CloudEvents 1.0, structured JSON',
})
export class EventDto {
  /** The version of CloudEvents. */
  @ApiProperty({ type: String, enum: ['1.0'] })
  specversion!: '1.0';

  /** Its cursor: later events have greater ids, compared as text. */
  @ApiProperty({ pattern: CURSOR.source })
  id!: string;

  /** The path of the records that the subject is one of. */
  source!: string;

  @OpenWord(eventTypes, 'What became of the subject')
  type!: EventType;

  /** The channel and the number of the order, each percent-encoded, such as `crm/SO-2001`; the id of the job; or the enterprise and the asset, each percent-encoded, such as `ent-harbour/ast-1002`. */
  subject!: string;

  @Time(undefined, 'When it was recorded')
  time!: string;

  /** The media type of `data`. */
  @ApiProperty({ type: String, enum: ['application/json'] })
  datacontenttype!: 'application/json';

  /** The order as `getOrder` shows it, the job as `getJob` does, or the row as `listEstate` does, as it was then. */
  @ApiProperty({
    oneOf: [OrderRecordDto, JobDto, EstateRowDto].map((each) => ({ $ref: getSchemaPath(each) })),
  })
  data!: OrderRecordDto | JobDto | EstateRowDto;
}

@ApiSchema({ description: 'Events, oldest first' })
export class EventPageDto {
  /** May be fewer than asked for, also none, where `next` is not `after`: the rest may be large, or be seen by others only. */
  items!: EventDto[];

  /** The cursor for the next call. */
  @ApiProperty({ pattern: CURSOR.source })
  next!: string;
}
