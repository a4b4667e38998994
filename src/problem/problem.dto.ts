import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { enumerationSchema } from '../shared/enumeration.ts';
import { type Outcome, outcomes, problemCodes, type ProblemSlug } from './catalogue.ts';

const NEVER_SHOWN = 'absent where it does not apply';

@ApiSchema({ description: 'What the platform answered' })
export class UpstreamAnswerDto {
  /** The platform's operation that answered. */
  operation!: string;
  /** The platform's business code, where its answer had one. */
  code?: string;
  @ApiProperty({ type: 'integer', description: "The HTTP status of the platform's answer" })
  status!: number;
}

@ApiSchema({ description: 'A fault of the request: where it is, and what is allowed there' })
export class RequestFaultDto {
  @ApiProperty({ description: `JSON pointer (RFC 6901) into the body; ${NEVER_SHOWN}`, required: false })
  pointer?: string;

  @ApiProperty({ description: `Query parameter, path parameter or header; ${NEVER_SHOWN}`, required: false })
  parameter?: string;

  @ApiProperty({
    type: 'integer',
    minimum: 0,
    description: `Row of an imported file: 1 is the first below the header, 0 the header; ${NEVER_SHOWN}`,
    required: false,
  })
  row?: number;

  @ApiProperty({
    type: 'integer',
    minimum: 1,
    description: `Line of an imported file in which the row begins, as an editor counts: 1 is the first, and a cell in quotes may have several; ${NEVER_SHOWN}`,
    required: false,
  })
  line?: number;

  @ApiProperty({ description: `Column of an imported file; ${NEVER_SHOWN}`, required: false })
  column?: string;

  /** What is allowed at this location. */
  detail!: string;
}

@ApiSchema({ description: 'An asset number that another member has' })
export class ConflictDto {
  assetNum!: string;

  /** Global id of the member that has the asset number. */
  memberGlobalId!: string;
}

@ApiSchema({ description: 'RFC 9457 problem details: the body of every error' })
export class ProblemDto {
  @ApiProperty({ format: 'uri-reference', description: 'The page that explains the problem' })
  type!: string;

  title!: string;

  @ApiProperty({ type: 'integer', description: 'The HTTP status of the response' })
  status!: number;

  /** What happened this time. */
  detail?: string;

  @ApiProperty({
    ...enumerationSchema(problemCodes),
    description: 'The code for programs to decide on; it never changes once published',
  })
  code!: ProblemSlug;

  @ApiProperty(enumerationSchema(outcomes))
  outcome!: Outcome;

  retryable!: boolean;

  /** Present when the platform answered. */
  upstream?: UpstreamAnswerDto;

  @ApiProperty({
    required: false,
    description:
      "The platform's code, where the operator of the gateway has taught it what this code means; `upstream` has it too",
    example: '13017',
  })
  upstreamCode?: string;

  @ApiProperty({
    type: () => [RequestFaultDto],
    required: false,
    description: 'One entry for each fault of the request; the first 100 where there are more',
  })
  errors?: RequestFaultDto[];

  @ApiProperty({
    type: () => [ConflictDto],
    required: false,
    description: 'Of `asset-assigned-twice`: the asset numbers that other members have',
  })
  conflicts?: readonly ConflictDto[];

  @ApiProperty({
    type: [String],
    required: false,
    description: 'Of `edit-would-lose`: the fields whose values the edit would lose',
  })
  fields?: readonly string[];

  @ApiProperty({
    required: false,
    description: 'Of `events-expired`: the cursor from which nothing is missed',
  })
  oldest?: string;

  @ApiProperty({
    required: false,
    format: 'date-time',
    description: 'Of `budget-exhausted`: when the next month begins, and with it the next budget',
  })
  resetsAt?: string;

  requestId!: string;
}
