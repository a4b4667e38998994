import { ApiSchema } from '@nestjs/swagger';
import { UpstreamName } from '../../operation/response-fields.ts';
import { PageDto, PageQuery } from '../../operation/page.dto.ts';
import { FlagParameter } from '../../validation/scalar-rules.ts';
import { Names } from '../../tenancy/names.ts';
import { Identifier, IdentifierList, ObjectRule, Optional } from '../../validation/rules.ts';

const MAX_ASSETS = 1_000;

@ApiSchema({
  description: 'An asset number of an enterprise, and the member that has it',
})
export class AssetNumDto {
  assetNum!: string;
  assetId!: string | null;
  /** The member that has the number; for a lent lock, the member that it is lent to. */
  @UpstreamName('cloudAccountGlobalId')
  memberGlobalId!: string | null;
  @UpstreamName('borrowedFlag')
  lent!: boolean | null;
  @UpstreamName('onlineFlag')
  online!: boolean | null;
}

@ApiSchema({ description: 'One page of asset numbers' })
export class AssetNumPageDto extends PageDto {
  items!: AssetNumDto[];
}

@ApiSchema({
  description: 'A lent lock of an enterprise, and the member that has it',
})
export class LentLockDto {
  /** Id of the physical lock. */
  assetId!: string;
  /** Number of the lent lock. */
  assetNum!: string | null;
  @UpstreamName('borrowedFlag')
  lent!: boolean | null;
  /** The member to which it is lent. */
  @UpstreamName('cloudAccountGlobalId')
  memberGlobalId!: string | null;
}

@ApiSchema({ description: 'One page of lent locks' })
export class LentLockPageDto extends PageDto {
  items!: LentLockDto[];
}

export class ListAssetNumsQuery extends PageQuery {
  /** Only asset numbers of this member. */
  @Optional()
  @Identifier({ example: 'mem-harbour-anna' })
  @Names('filter')
  memberGlobalId?: string;

  @Optional()
  @FlagParameter({
    description: '`true`: only numbers that no member has and that are not lent; `false`: all others',
    example: false,
  })
  free?: boolean;

  @Optional()
  @FlagParameter({
    description: '`true`: only those that are lent now; `false`: only those that are not',
    example: false,
  })
  lent?: boolean;

  @Optional()
  @FlagParameter({
    description: '`true`: only those that are in use online now; `false`: only those that are not',
    example: false,
  })
  online?: boolean;
}

export class ListLentLocksQuery extends PageQuery {
  @Optional()
  @FlagParameter({
    description: '`true`: only those that are lent now; `false`: only those that are not',
    example: true,
  })
  lent?: boolean;

  /** Only lent locks that are lent to this member. */
  @Optional()
  @Identifier({ example: 'mem-harbour-chen' })
  @Names('filter')
  memberGlobalId?: string;
}

const isList = (value: unknown) => Array.isArray(value);

@ObjectRule<ChangeAssetNumsDto>(
  ({ assign, withdraw }) => !isList(assign) || !isList(withdraw) || assign.length + withdraw.length > 0,
  'must have at least one asset number in assign or withdraw',
)
@ObjectRule<ChangeAssetNumsDto>(
  ({ assign, withdraw }) =>
    !isList(assign) || !isList(withdraw) || new Set(assign).isDisjointFrom(new Set(withdraw)),
  'must not have an asset number in both assign and withdraw',
)
@ApiSchema({
  description: 'A change of the asset numbers of a member',
})
export class ChangeAssetNumsDto {
  /** Asset numbers that the member gets. */
  @Optional()
  @IdentifierList({ max: MAX_ASSETS }, { 'x-upstream': 'addAssets' })
  @Names('assetNum')
  assign: string[] = [];

  /** Asset numbers that are taken from the member. */
  @Optional()
  @IdentifierList({ max: MAX_ASSETS }, { 'x-upstream': 'deleteAssets' })
  @Names('assetNum')
  withdraw: string[] = [];
}

@ApiSchema({
  description: 'The wanted asset numbers of a member',
})
export class SetAssetNumsDto {
  /** All asset numbers that the member has afterwards. */
  @IdentifierList({ max: MAX_ASSETS }, { example: ['8000001002', '8000001004'] })
  @Names('assetNum')
  assetNums!: string[];
}

@ApiSchema({ description: 'What changed' })
export class RightsChangeDto {
  /** Numbers that were assigned to the member. */
  assigned!: string[];
  /** Numbers that were taken from the member. */
  withdrawn!: string[];
  /** Requested numbers that the member already had. A lent lock that `setMemberAssetNums` does not name stays with the member, and is in none of these lists. */
  kept!: string[];
}

@ApiSchema({
  description: 'The assets whose rights move, and the lock that takes them',
})
export class LendAssetsDto {
  /** Number of the lent lock to which the rights move. */
  @Identifier({ example: '8000001006', 'x-upstream': 'borrowedUsbKey' })
  @Names('lentLock')
  lentLockNum!: string;

  /** Ids of assets that are assigned to the member. */
  @IdentifierList({ min: 1, max: MAX_ASSETS }, { example: ['ast-1002'], 'x-upstream': 'assetIDs' })
  @Names('asset')
  assetIds!: string[];
}
