import { ApiProperty, ApiSchema } from '@nestjs/swagger';

@ApiSchema({ description: 'A call of the platform that a write would make' })
export class WouldSendDto {
  @ApiProperty({ description: "The platform's operation, as in `x-upstream`", example: 'deleteMember' })
  operation!: string;

  @ApiProperty({
    type: 'object',
    additionalProperties: true,
    nullable: true,
    description: 'The body, with its secrets masked; null where it has none',
  })
  body!: unknown;
}

@ApiSchema({
  description:
    'What a write would take away or change, as it is now. Which fields it has depends on the operation',
})
export class DryRunEffectDto {
  @ApiProperty({
    type: String,
    required: false,
    description: 'Locks: the number of the lock; `deleteMember`: a right that goes with the member',
  })
  assetNum?: string;

  @ApiProperty({
    type: Boolean,
    nullable: true,
    required: false,
    description: 'Locks: whether it is disabled now',
  })
  locked?: boolean | null;

  @ApiProperty({ type: String, required: false, description: '`lendAssets`: the asset' })
  assetId?: string;

  @ApiProperty({
    type: Boolean,
    required: false,
    description: '`lendAssets`: whether no member has it, and it is not lent',
  })
  free?: boolean;
}

@ApiSchema({
  description: 'What a write with `validateOnly` would do. Nothing was sent, and nothing recorded',
})
export class DryRunDto {
  @ApiProperty({
    type: () => [WouldSendDto],
    description: 'Calls of the platform; none where it would not be called',
  })
  wouldSend!: readonly WouldSendDto[];

  @ApiProperty({
    type: () => [DryRunEffectDto],
    description: 'As far as it can be read; of locks, `deleteMember` and `lendAssets`',
  })
  effects!: readonly DryRunEffectDto[];
}
