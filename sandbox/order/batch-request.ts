/** The body of order operation 5 (section 2.4), parsed and checked before the sandbox changes anything. */
import type { Call } from '../call.ts';
import { invalid, Refusal } from '../errors.ts';
import {
  CLOUD_LICENSE_TYPES,
  CUSTOMER_TYPES,
  type CustomerType,
  type Extension,
  LICENSE_TYPES,
  type LicenseType,
  ORDER_TYPES,
  type OrderType,
  type ProductTerms,
} from '../state/records.ts';
import { assertSold } from './catalogue.ts';
import { ownCode, type Profile } from '../profile.ts';
import { Fields } from './fields.ts';
import {
  MERCHANDISE_FIELDS,
  type MerchandiseTerms,
  PRODUCT_FIELDS,
  readMerchandise,
  readProduct,
} from './terms.ts';

export interface Batch {
  readonly appKey: string;
  readonly channelCode: string;
  readonly channelOrderId: string;
  readonly syncMode: string;
  readonly items: readonly Item[];
}

export interface Item {
  /** The path of the item in the body, for error messages. */
  readonly path: string;
  readonly sequence: number;
  readonly orderType: OrderType;
  readonly licenseType: LicenseType;
  readonly customerType: CustomerType;
  readonly srcLicenseOrderId: string | null;
  readonly customerId: string | null;
  readonly crmCustomerId: string | null;
  readonly channelCustomerId: string | null;
  readonly enterpriseGlobalId: string | null;
  readonly customerName: string | null;
  readonly branchName: string | null;
  readonly address: string | null;
  readonly passwordMobile: string | null;
  readonly adminName: string | null;
  readonly adminAccount: string | null;
  readonly adminCellNumber: string | null;
  readonly assets: readonly AssetPart[];
}

export interface AssetPart {
  readonly path: string;
  readonly assetNos: readonly string[];
  readonly extensions: readonly Extension[];
  readonly limitStartTime: number | null;
  readonly limitEndTime: number | null;
  readonly lentLock: boolean;
  readonly transferred: boolean;
  readonly products: readonly ProductPart[];
  readonly merchandises: readonly MerchandiseTerms[];
}

export interface ProductPart {
  readonly terms: ProductTerms;
  readonly strict: boolean;
}

const BATCH_FIELDS = new Set(['channelCode', 'channelOrderId', 'syncMode', 'orderList']);

const ITEM_FIELDS = new Set(
  (
    'sequence customerId crmCustomerId customerName channelCustomerId adminName adminAccount adminEmail adminCellNumber ' +
    'passwordMobile address customerType branchCode branchName enterpriseGlobalId srcLicenseOrderId licenseType orderType assets'
  ).split(' '),
);

const ASSET_FIELDS = new Set(
  'assetNos assetExtendList limitStartDate limitEndDate borrowedUsbKey transferedAssetNum products merchandises'.split(
    ' ',
  ),
);

const EXTENSION_FIELDS = new Set(['extendCode', 'extendValue']);

const SYNC_MODES = ['sync', 'async'] as const;

/** @throws Refusal 13004 for everything that the rules of section 4.1 forbid independently of the state */
export function readBatch(call: Call): Batch {
  const { body, query, settings, state } = call;
  const appKey = query.get('appKey') ?? '';
  if (appKey === '') throw invalid('appKey must not be empty');
  const fields = new Fields(body, '', BATCH_FIELDS, settings);
  const channelCode = fields.requiredText('channelCode');
  const channelOrderId = fields.requiredText('channelOrderId');
  const syncMode = fields.word('syncMode', SYNC_MODES) ?? 'sync';
  const count = fields.list('orderList').length;
  if (count === 0) throw invalid('orderList must not be empty');
  if (count > settings.profile.maxOrdersPerBatch) throw invalid('orderList has too many items');
  if (syncMode === 'async' && settings.profile.asyncOrders === 'refused')
    throw invalid('syncMode async is not served');
  if (state.ordersOfNumber(channelCode, channelOrderId).length > 0)
    assertRepeatable(channelOrderId, settings.profile);
  const items = fields.objects('orderList', ITEM_FIELDS, (item) => readItem(item, settings.profile));
  for (const { orderType, assets } of items)
    if (orderType === 'new_buy') for (const asset of assets) assertSold(call, asset);
  const sequences = items.map((item, place) => item.sequence ?? place + 1);
  if (new Set(sequences).size < count) throw invalid('orderList has a sequence twice');
  return {
    appKey,
    channelCode,
    channelOrderId,
    syncMode,
    items: items.map((item, place) => ({ ...item, sequence: sequences[place] ?? place + 1 })),
  };
}

function assertRepeatable(channelOrderId: string, profile: Profile): void {
  if (profile.repeatedOrder === 'refused') throw invalid('channelOrderId has been placed before');
  const message = `the order ${channelOrderId} is there already`;
  const as = ownCode(profile, 'placed-before', '13021');
  if (profile.repeatedOrder === 'other-code') throw new Refusal('13004', message, { message, as });
}

function readItem(fields: Fields, profile: Profile): Omit<Item, 'sequence'> & { sequence: number | null } {
  const orderType = required(fields, 'orderType', ORDER_TYPES);
  const licenseType = required(fields, 'licenseType', LICENSE_TYPES);
  const srcLicenseOrderId = fields.text('srcLicenseOrderId');
  if (orderType !== 'new_buy' && srcLicenseOrderId === null && CLOUD_LICENSE_TYPES.has(licenseType)) {
    throw invalid(
      `${fields.at('srcLicenseOrderId')} must not be empty when a cloud authorization is deleted`,
    );
  }
  fields.text('adminEmail');
  fields.text('branchCode');
  const assets = fields.objects('assets', ASSET_FIELDS, (asset) => readAsset(asset, orderType, profile));
  if (assets.length === 0) throw invalid(`${fields.at('assets')} must not be empty`);
  return {
    path: fields.path,
    sequence: fields.integer('sequence'),
    orderType,
    licenseType,
    customerType: fields.word('customerType', CUSTOMER_TYPES) ?? 'company',
    srcLicenseOrderId,
    customerId: fields.text('customerId'),
    crmCustomerId: fields.text('crmCustomerId'),
    channelCustomerId: fields.text('channelCustomerId'),
    enterpriseGlobalId: fields.text('enterpriseGlobalId'),
    customerName: fields.text('customerName'),
    branchName: fields.text('branchName'),
    address: fields.text('address'),
    passwordMobile: fields.text('passwordMobile'),
    adminName: fields.text('adminName'),
    adminAccount: fields.text('adminAccount'),
    adminCellNumber: fields.text('adminCellNumber'),
    assets,
  };
}

function readAsset(fields: Fields, orderType: OrderType, profile: Profile): AssetPart {
  const part: AssetPart = {
    path: fields.path,
    assetNos: fields.texts('assetNos'),
    extensions: fields.objects('assetExtendList', EXTENSION_FIELDS, (extension) => ({
      extendCode: extension.requiredText('extendCode'),
      extendValue: extension.text('extendValue'),
    })),
    limitStartTime: fields.time('limitStartDate'),
    limitEndTime: fields.time('limitEndDate'),
    lentLock: fields.flag('borrowedUsbKey'),
    transferred: fields.flag('transferedAssetNum'),
    products: fields.objects('products', PRODUCT_FIELDS, (product) => ({
      terms: readProduct(product),
      strict: product.flag('strictMatchWhenDelete'),
    })),
    merchandises: fields.objects('merchandises', MERCHANDISE_FIELDS, (merchandise) =>
      readMerchandise(merchandise, 1),
    ),
  };
  if (new Set(part.assetNos).size < part.assetNos.length)
    throw invalid(`${fields.at('assetNos')} names a number twice`);
  const takesPackages = orderType !== 'delete_product' || profile.packagesInDeletion === 'taken';
  const nothing = part.products.length === 0 && !(takesPackages && part.merchandises.length > 0);
  if (orderType !== 'delete_asset' && nothing) throw invalid(`${fields.at('products')} must not be empty`);
  if (orderType !== 'new_buy' && part.assetNos.length === 0)
    throw invalid(`${fields.at('assetNos')} must not be empty`);
  return part;
}

function required<Word extends string>(fields: Fields, name: string, words: readonly Word[]): Word {
  const word = fields.word(name, words);
  if (word === null) throw invalid(`${fields.at(name)} must not be empty`);
  return word;
}
