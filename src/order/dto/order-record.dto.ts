import { ApiProperty } from '@nestjs/swagger';
import { FlagParameter } from '../../validation/parameter-rules.ts';
import { Optional } from '../../validation/rules.ts';

export class PlaceOrderQuery {
  /** `true`: runs every check, answers with what would be sent, and sends nothing. */
  @Optional()
  @FlagParameter({ example: false })
  validateOnly: boolean = false;
}

export class PlacedItemDto {
  @ApiProperty({ type: 'integer' })
  sequence!: number;

  licenseOrderId!: string;

  customerId?: string | null;
}

/** What became of an order. */
export class OrderRecordDto {
  channelCode!: string;

  channelOrderId!: string;

  @ApiProperty({
    enum: ['succeeded', 'accepted'],
    description: '`accepted`: taken over for later (`syncMode` async)',
  })
  state!: 'succeeded' | 'accepted';

  @ApiProperty({ enum: ['sync', 'async'] })
  syncMode!: 'sync' | 'async';

  items!: PlacedItemDto[];

  @ApiProperty({ format: 'date-time' })
  submittedAt!: string;

  @ApiProperty({ type: String, format: 'date-time', nullable: true })
  settledAt!: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'Why it was settled by hand, where it was' })
  reason!: string | null;
}

/** What would be sent upstream; secrets stand as `[secret]`. */
export class OrderPreviewDto {
  method!: string;
  path!: string;

  @ApiProperty({ type: 'object', additionalProperties: true })
  body!: object;
}
