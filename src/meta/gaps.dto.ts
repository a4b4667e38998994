import { ApiProperty } from '@nestjs/swagger';
import { enumeration } from '../shared/enumeration.ts';
import { Count, OpenWord, Time } from '../operation/answer-fields.ts';
import { PageDto } from '../operation/page.dto.ts';
import { gapKinds } from '../upstream/wire/reader.ts';

const kinds = enumeration('GapKind', gapKinds);

/** A departure of the platform's answers from its interface, for the platform's owner. */
export class GapDto {
  @ApiProperty({ description: 'The operation of the gateway in which it occurs', example: 'listAssets' })
  operation!: string;

  @ApiProperty({
    description: "Its location in the platform's answer; `[]` stands for every item of a list",
    example: 'data[].keyChipType',
  })
  path!: string;

  @OpenWord(kinds, 'In which way the field departs')
  kind!: string;

  @Count('Number of answers that had it')
  count!: number;

  @Time()
  firstSeenAt!: string;

  @Time()
  lastSeenAt!: string;
}

export class GapPageDto extends PageDto {
  items!: GapDto[];
}
