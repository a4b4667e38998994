import { ApiProperty } from '@nestjs/swagger';
import { enumeration } from '../shared/enumeration.ts';
import { Count, OpenWord, Time } from '../operation/answer-fields.ts';
import { PageDto } from '../operation/page.dto.ts';
import { gapKinds } from '../upstream/wire/reader.ts';

const kinds = enumeration('GapKind', gapKinds);

/** A departure of the platform's answers from its interface: what the platform's owner should hear of. */
export class GapDto {
  @ApiProperty({ description: 'The operation of the gateway that shows it', example: 'listAssets' })
  operation!: string;

  @ApiProperty({
    description: "Where it is in the platform's answer, `[]` for every item of a list",
    example: 'data[].keyChipType',
  })
  path!: string;

  @OpenWord(kinds, 'In which way the field departs')
  kind!: string;

  @Count('Answers that had it')
  count!: number;

  @Time()
  firstSeenAt!: string;

  @Time()
  lastSeenAt!: string;
}

export class GapPageDto extends PageDto {
  items!: GapDto[];
}
