import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { PageDto, PageQuery } from '../operation/page.dto.ts';
import { Count, OpenWord, Time } from '../operation/response-fields.ts';
import { Names, NotAll } from '../tenancy/names.ts';
import { type LicenseType, licenseTypes } from '../upstream/wire/words.ts';
import { FlagParameter, LaterThan, TimestampParameter } from '../validation/scalar-rules.ts';
import { ExactText, Identifier, OneOf, Optional, PathId, rule, Trimmed } from '../validation/rules.ts';
import { type EstateOrder, estateOrders } from './estate-filters-store.ts';
import { type EstateState, estateStates } from './estate-row.ts';

/** The longest text to find: no account or number is longer. */
const MAX_FIND = 255;

export class ListEstateQuery extends PageQuery {
  @Optional()
  @Identifier({ example: 'ent-harbour', description: 'Only what this enterprise has' })
  @Names('enterpriseFilter')
  enterpriseGlobalId?: string;

  @Optional()
  @OneOf(licenseTypes, { description: 'Only assets of this licence type', example: 'cloud_account' })
  licenseType?: LicenseType;

  /** Only products of this URI. */
  @Optional()
  @Identifier({ example: 'draft.pro' })
  @Names('filter')
  productUri?: string;

  @Optional()
  @TimestampParameter({
    description: 'Only what ends at this time or later; what has no end is left out',
    example: '2026-12-01T00:00:00.000Z',
  })
  endsAfter?: string;

  @Optional()
  @TimestampParameter({
    description: 'Only what ends before this time; what has no end is left out',
    example: '2030-01-01T00:00:00.000Z',
  })
  @LaterThan('endsAfter')
  endsBefore?: string;

  @Optional()
  @FlagParameter({
    description: '`true`: only assets that can be given to a member and have none; `false`: all others',
    example: true,
  })
  unassigned?: boolean;

  /** Only what this member has. */
  @Optional()
  @Identifier({ example: 'mem-harbour-anna' })
  @Names('filter')
  @rule(
    'assigned',
    (_, query) => (query as ListEstateQuery).unassigned !== true,
    'must not come with unassigned=true: an unassigned asset has no member',
  )
  memberGlobalId?: string;

  @Optional()
  @Trimmed()
  @ExactText(
    {
      description:
        'Exactly an asset number, asset id, account (with or without what the platform appends), order number, licence order id, `crmProductId` or `customerId`, in any case of letters',
      example: '8000001002',
    },
    { min: 3, max: MAX_FIND },
  )
  @Names('filter')
  find?: string;

  @Optional()
  @OneOf(estateOrders, { description: 'The order of the rows', example: 'endsAt' })
  sort: EstateOrder = 'endsAt';
}

@ApiSchema({ description: 'A product on an asset, or an asset without products, as the copy has it' })
export class EstateRowDto {
  enterpriseGlobalId!: string;

  assetId!: string;

  assetNum!: string | null;

  @OpenWord(licenseTypes)
  licenseType!: string | null;

  /** The platform's id of the product on the asset; null for an asset without products. */
  productId!: string | null;

  productUri!: string | null;

  productName!: string | null;

  /** The innermost package that the product is in. */
  packageNum!: string | null;

  @Time(undefined, 'When the product begins, or the asset where it has no time of its own')
  startsAt!: string | null;

  @Time(undefined, 'The earlier end of the product and the asset; null where neither ends')
  endsAt!: string | null;

  trial!: boolean | null;

  @ApiProperty({ type: 'integer' })
  limitConcurrent!: number | null;

  memberGlobalId!: string | null;

  lent!: boolean | null;

  online!: boolean | null;

  @Time(undefined, 'The last time at which the copy saw the asset in use; null where it never did')
  lastOnlineAt!: string | null;

  locked!: boolean | null;

  frozen!: boolean | null;

  licenseOrderId!: string | null;

  channelOrderId!: string | null;

  crmProductId!: string | null;

  @Time(undefined, 'When the platform showed this: the time of the oldest part of it')
  seenAt!: string;
}

@ApiSchema({ description: 'One page of the estate' })
export class EstatePageDto extends PageDto {
  /** Rows in the wanted order. */
  items!: EstateRowDto[];
}

export class EstateSummaryQuery {
  @Optional()
  @Identifier({ example: 'ent-harbour', description: 'Only of this enterprise' })
  @Names('enterpriseFilter')
  enterpriseGlobalId?: string;
}

@ApiSchema({ description: 'An enterprise of the estate, and how its last reading ended' })
export class EstateEnterpriseDto {
  enterpriseGlobalId!: string;

  @OpenWord(estateStates, 'How much of it the copy has')
  state!: EstateState;

  /** Why the copy is not whole; null where it is, and before the first reading. */
  reason!: string | null;

  @Time(undefined, 'When it was last read to its end; null: never')
  seenAt!: string | null;
}

@ApiSchema({ description: 'What ends in a month' })
export class EndingMonthDto {
  @ApiProperty({ pattern: String.raw`^\d{4}-\d{2}$`, description: 'Year and month in UTC' })
  month!: string;

  @Count('Products on assets that end in it')
  products!: number;

  @Count('The nodes of these products; one where a product has no number of them')
  licences!: number;
}

@ApiSchema({ description: 'What all enterprises have of a product' })
export class ProductSumDto {
  productUri!: string;

  productName!: string | null;

  @Count('Assets that have it')
  assets!: number;

  @Count('Nodes of it; one where it has no number of them')
  licences!: number;

  @Count('Assets with it that can be given to a member and have none')
  unassigned!: number;

  @Time(undefined, 'The next time from now at which one of them ends; null where none does')
  nextEndsAt!: string | null;
}

@ApiSchema({ description: 'The estate in sums' })
export class EstateSummaryDto {
  @Time(
    undefined,
    'The oldest `seenAt` of the enterprises; null where one was never read to its end, or further ones may be unknown',
  )
  seenAt!: string | null;

  /** The enterprises that the caller may see. */
  enterprises!: EstateEnterpriseDto[];

  @Count('Assets')
  assets!: number;

  @Count('Products on assets')
  products!: number;

  @Count('Assets that can be given to a member and have none')
  unassigned!: number;

  /** Months in which something ends, the earliest first. */
  endingByMonth!: EndingMonthDto[];

  /** Products, those with most licences first. */
  byProduct!: ProductSumDto[];
}

@ApiSchema({ description: 'The enterprise that is to be read next' })
export class RefreshEstateDto {
  @PathId({ example: 'ent-harbour' })
  @NotAll()
  @Names('enterprise')
  enterpriseGlobalId!: string;
}
