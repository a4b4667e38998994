import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { enumeration } from '../../shared/enumeration.ts';
import { Count, OpenWord, Time } from '../../operation/response-fields.ts';
import { PageDto } from '../../operation/page.dto.ts';
import { gapKinds } from '../gaps.ts';

const kinds = enumeration(
  'GapKind',
  gapKinds,
  'In which way an answer of the platform departs from its interface',
);

@ApiSchema({
  description: "A departure of the platform's answers from its interface, for the platform's owner",
})
export class GapDto {
  @ApiProperty({ description: 'The operation of the gateway in which it occurs', example: 'listAssets' })
  operation!: string;

  @ApiProperty({
    description:
      "Its location in the platform's answer; `[]` stands for every item of a list. Of `unknown-code` the code, as `code=13017`: neither the interface nor the platform's profile has it",
    example: 'data[].keyChipType',
  })
  path!: string;

  @OpenWord(kinds, 'In which way the field departs from the interface')
  kind!: string;

  @Count('Number of answers that had it')
  count!: number;

  @Time(undefined, 'When it was first seen')
  firstSeenAt!: string;

  @Time(undefined, 'When it was last seen')
  lastSeenAt!: string;
}

@ApiSchema({ description: 'One page of departures' })
export class GapPageDto extends PageDto {
  /** The departures of the page, by operation and path. */
  items!: GapDto[];
}
