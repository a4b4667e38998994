import { ApiExtraModels, ApiSchema } from '@nestjs/swagger';
import {
  type CustomerType,
  customerTypes,
  type LicenseType,
  licenseTypes,
  type SyncMode,
  syncModes,
} from '../../upstream/wire/words.ts';
import { enumeration, type WordOf } from '../../shared/enumeration.ts';
import { Label, Names } from '../../tenancy/names.ts';
import { ListOfKinds } from '../../validation/list-rules.ts';
import { Int32, Timestamp } from '../../validation/scalar-rules.ts';
import {
  Flag,
  Identifier,
  InUrl,
  ListOf,
  Nested,
  ObjectRule,
  OneOf,
  Optional,
  PathId,
  rule,
  Text,
} from '../../validation/rules.ts';
import { BoughtAssetDto, MAX_ASSETS, ReducedAssetDto, RevokedAssetDto } from './order-product.dto.ts';

/** A deletion of these types must name its order (rule 5 of section 4.1). */
const CLOUD_TYPES: readonly string[] = ['cloud_account', 'cloud_customer', 'cloud_personal'];

@ApiSchema({
  description:
    'The customer of an item of an order. Any of the ids is enough, unless the caller is bound to enterprises: then `customerId` and ' +
    '`enterpriseGlobalId` are required, and `crmCustomerId` is 403 `forbidden`',
})
class OrderCustomerDto {
  @Optional()
  @Identifier({ example: 'cus-harbour-default' })
  @Names('customer')
  customerId?: string;

  @Optional()
  @Identifier({ example: 'CRM-1001' })
  @Names('crmCustomer')
  crmCustomerId?: string;

  @Optional()
  @Text({ example: 'Harbour Engineering' })
  customerName?: string;

  @Optional()
  @Identifier({ example: 'CH-1001' })
  @Names('channelCustomer')
  channelCustomerId?: string;

  /** Global id of the enterprise's main account. Only enterprises granted to the caller; a bound caller must name one. */
  @Optional()
  @PathId({ example: 'ent-harbour' })
  @Names('enterprise')
  enterpriseGlobalId?: string;

  @Optional()
  @Text()
  address?: string;

  /** The purchaser's mobile number. */
  @Optional()
  @Text()
  passwordMobile?: string;
}

@ApiSchema({ description: "The customer's administrator" })
class OrderAdminDto {
  /** The administrator's own name. */
  @Optional()
  @Text({ 'x-upstream': 'adminName' })
  name?: string;

  /** The administrator's login name. */
  @Optional()
  @Text({ 'x-upstream': 'adminAccount' })
  account?: string;

  /** The administrator's e-mail address. */
  @Optional()
  @Text({ 'x-upstream': 'adminEmail' })
  email?: string;

  /** The administrator's mobile number. */
  @Optional()
  @Text({ 'x-upstream': 'adminCellNumber' })
  cellNumber?: string;
}

@ApiSchema({ description: "The customer's branch" })
class OrderBranchDto {
  /** Code of the branch. */
  @Optional()
  @Label({ 'x-upstream': 'branchCode' })
  code?: string;

  /** Name of the branch. */
  @Optional()
  @Text({ 'x-upstream': 'branchName' })
  name?: string;
}

/** The fields of every order item. */
abstract class OrderItemBase {
  /** Number of the item in the order; by default its place, counted from 1. */
  @Optional()
  @Int32({ example: 1 })
  sequence?: number;

  @OneOf(licenseTypes)
  licenseType!: LicenseType;

  @Optional()
  @OneOf(customerTypes)
  customerType?: CustomerType;

  @Nested(() => OrderCustomerDto)
  customer!: OrderCustomerDto;

  @Optional()
  @Nested(() => OrderAdminDto)
  admin?: OrderAdminDto;

  @Optional()
  @Nested(() => OrderBranchDto)
  branch?: OrderBranchDto;
}

@ApiSchema({ description: 'Item of an order that buys products or packages' })
export class NewBuyDto extends OrderItemBase {
  @OneOf(['new_buy'])
  orderType!: 'new_buy';

  /** The original licence order, if any. */
  @Optional()
  @Identifier()
  @Names('order')
  srcLicenseOrderId?: string;

  @ListOf(() => BoughtAssetDto, { min: 1, max: MAX_ASSETS })
  assets!: BoughtAssetDto[];
}

@ObjectRule<DeletionBase>(
  ({ srcLicenseOrderId, allOrders }) => (srcLicenseOrderId === undefined) === (allOrders === true),
  'must name either srcLicenseOrderId or allOrders: true, which deletes from all orders of the customer',
)
@ObjectRule<DeletionBase>(
  ({ licenseType, allOrders }) => allOrders !== true || !CLOUD_TYPES.includes(licenseType),
  'must not have allOrders for a cloud licence type: name srcLicenseOrderId',
)
abstract class DeletionBase extends OrderItemBase {
  /** The licence order whose products are deleted. */
  @Optional()
  @Identifier({ example: 'lic-1009' })
  @Names('order')
  srcLicenseOrderId?: string;

  /** Deletes from **all** orders of the customer. Not for cloud licence types. */
  @Optional()
  @Flag()
  allOrders?: boolean;
}

@ApiSchema({ description: 'Item of an order that revokes whole assets' })
export class DeleteAssetDto extends DeletionBase {
  @OneOf(['delete_asset'])
  orderType!: 'delete_asset';

  @ListOf(() => RevokedAssetDto, { min: 1, max: MAX_ASSETS })
  assets!: RevokedAssetDto[];
}

@ApiSchema({
  description: 'Item of an order that revokes products of assets',
})
export class DeleteProductDto extends DeletionBase {
  @OneOf(['delete_product'])
  orderType!: 'delete_product';

  @ListOf(() => ReducedAssetDto, { min: 1, max: MAX_ASSETS })
  assets!: ReducedAssetDto[];
}

export type OrderItemDto = NewBuyDto | DeleteAssetDto | DeleteProductDto;

const effectsChanges = enumeration(
  'IfEffectsChanged',
  ['reject', 'send'],
  'What becomes of a deletion that would take away something else at its time than at its acceptance',
);

@ApiExtraModels(NewBuyDto, DeleteAssetDto, DeleteProductDto)
@ApiSchema({
  description: 'A batch of licence orders: one call to the platform',
})
export class PlaceOrderDto {
  /** Code of the sales channel. Only channels granted to the caller. */
  @Identifier({ example: 'crm' })
  @InUrl()
  @Names('channel')
  channelCode!: string;

  @Identifier({ example: 'SO-2001' })
  @InUrl()
  @Names('ownNumber')
  channelOrderId!: string;

  @Optional()
  @OneOf(syncModes, { example: 'sync' })
  syncMode: SyncMode = 'sync';

  @Optional()
  @Timestamp({
    description:
      'The time before which the order is not sent, at most 400 days away. Until then its state is `scheduled`; absent: now',
  })
  notBefore?: string;

  @Optional()
  @OneOf(effectsChanges, { description: 'With `notBefore`; absent: `reject`' })
  ifEffectsChanged?: WordOf<typeof effectsChanges>;

  /** What to buy and to revoke; `orderType` tells which. */
  @ListOfKinds(
    { property: 'orderType', name: 'OrderItem', description: 'What an item of an order buys or revokes' },
    { new_buy: NewBuyDto, delete_asset: DeleteAssetDto, delete_product: DeleteProductDto },
    { min: 1, max: 1_000 },
    { 'x-upstream': 'orderList' },
  )
  @rule('sequences', isEachOnce, 'must give every item a sequence of its own')
  items!: OrderItemDto[];
}

function isEachOnce(items: unknown): boolean {
  if (!Array.isArray(items)) return true;
  return new Set((items as OrderItemDto[]).map(sequenceOf)).size === items.length;
}

/** The sequence of an item in the call to the platform. */
export function sequenceOf(item: { readonly sequence?: number }, index: number): number {
  return item?.sequence ?? index + 1;
}
