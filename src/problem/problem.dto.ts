import { ApiProperty } from '@nestjs/swagger';
import { problemSlugs } from './catalogue.ts';
import { outcomes } from './definition.ts';

const NEVER_SHOWN = 'absent where it does not apply';

export class UpstreamAnswerDto {
  /** The platform's operation that answered. */
  operation!: string;
  /** The platform's business code, where its answer had one. */
  code?: string;
  /** The HTTP status of the platform's answer. */
  status!: number;
}

export class RequestFaultDto {
  @ApiProperty({ description: `JSON pointer (RFC 6901) into the body; ${NEVER_SHOWN}`, required: false })
  pointer?: string;

  @ApiProperty({ description: `Query parameter, path parameter or header; ${NEVER_SHOWN}`, required: false })
  parameter?: string;

  /** What is allowed there. */
  detail!: string;
}

export class ConflictDto {
  assetNum!: string;

  /** The member that has it. */
  memberGlobalId!: string;
}

/** RFC 9457 problem details: the body of every error. */
export class ProblemDto {
  @ApiProperty({ format: 'uri-reference', description: 'The page that explains the problem' })
  type!: string;

  title!: string;

  @ApiProperty({ type: 'integer' })
  status!: number;

  /** What happened this time. */
  detail?: string;

  @ApiProperty({
    enum: problemSlugs,
    ...{ 'x-enumeration': 'ProblemCode' },
    description: 'The code for programs to decide on; it never changes once published',
  })
  code!: string;

  @ApiProperty({
    enum: [...outcomes.words],
    ...{ 'x-enumeration': outcomes.name },
    description:
      'What is known about the effect on the platform; `not_processed` means that provably nothing happened',
  })
  outcome!: string;

  /** Whether the same request may be sent again as it is. */
  retryable!: boolean;

  /** Present when the platform answered. */
  upstream?: UpstreamAnswerDto;

  @ApiProperty({
    type: () => [RequestFaultDto],
    required: false,
    description: 'One entry for each fault of the request',
  })
  errors?: RequestFaultDto[];

  @ApiProperty({
    type: () => [ConflictDto],
    required: false,
    description: 'Of `asset-assigned-twice`: the asset numbers that other members have',
  })
  conflicts?: ConflictDto[];

  /** The `X-Request-Id` of this request. */
  requestId!: string;
}
