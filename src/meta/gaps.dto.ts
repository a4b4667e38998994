import { ApiProperty } from '@nestjs/swagger';
import { type GapKind, gapKinds } from '../upstream/wire/reader.ts';

/** A departure of the platform's answers from its interface: what the platform's owner should hear of. */
export class GapDto {
  /** The operation of the gateway that shows it. */
  @ApiProperty({ example: 'listAssets' })
  operation!: string;

  /** Where it is in the platform's answer, `[]` for every item of a list; never a value. */
  @ApiProperty({ example: 'data[].keyChipType' })
  path!: string;

  /** In which way the field departs. */
  @ApiProperty({ enum: gapKinds, enumName: 'GapKind' })
  kind!: GapKind;

  /** Answers that had it. */
  @ApiProperty({ type: 'integer', minimum: 1, example: 12 })
  count!: number;

  @ApiProperty({ format: 'date-time' })
  firstSeenAt!: string;

  @ApiProperty({ format: 'date-time' })
  lastSeenAt!: string;
}
