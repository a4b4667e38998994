/** The seed's licence orders with their product and merchandise instances. */
import type { World } from '../call.ts';
import type { Origin, ProductInstance } from './records.ts';

const PLACED = Date.UTC(2026, 0, 5, 8);
const UNTIL = Date.UTC(2099, 11, 31);

interface SeedProduct {
  readonly uri: string;
  readonly nodes?: number;
  readonly trial?: number;
  readonly ends?: number;
}

/**
 * Adds an order that bought products on an existing asset. Instance ids derive from the order's id: `prd-<order>-1`, `mer-<order>-suite`.
 * For an order of digits they are digits too. `withSuite` adds a package in a package, each with one product of two nodes: the asset is in
 * online use, and one node is left to lend.
 */
export function seedOrder(
  world: World,
  licenseOrderId: string,
  channelOrderId: string,
  assetId: string,
  products: readonly SeedProduct[],
  options: { withSuite?: boolean } = {},
): void {
  const { state } = world;
  const { customerId, licenseType } = state.assets.need(assetId);
  const { channelCode } = state.customers.need(customerId);
  const origin: Origin = { customerId, assetId, licenseType, licenseOrderId, channelCode, channelOrderId };
  state.orders.put({
    licenseOrderId,
    channelCode,
    channelOrderId,
    sequence: 1,
    customerId,
    licenseType,
    orderType: 'new_buy',
    srcLicenseOrderId: null,
    syncMode: 'sync',
    appKey: 'seed',
    state: 'done',
    failure: null,
    createTime: PLACED,
  });
  products.forEach((product, place) => putProduct(world, origin, product, place + 1, null));
  if (options.withSuite !== true) return;
  const suite = putMerchandise(world, origin, 'suite', 'PKG-SUITE', null);
  putProduct(world, origin, { uri: 'cloud.render', nodes: 2 }, products.length + 1, suite);
  const extras = putMerchandise(world, origin, 'extras', 'PKG-EXTRAS', {
    id: suite,
    merchandiseNum: 'PKG-SUITE',
  });
  putProduct(world, origin, { uri: 'cloud.share', nodes: 2, trial: 1 }, products.length + 2, extras);
}

function putProduct(
  { state }: World,
  origin: Origin,
  { uri, nodes, trial, ends = UNTIL }: SeedProduct,
  place: number,
  merchandiseInsId: string | null,
): void {
  const instance: ProductInstance = {
    ...origin,
    id: instanceId('prd', origin.licenseOrderId, String(place)),
    merchandiseInsId,
    crmProductId: `CP-${origin.channelOrderId}-${place}`,
    parentCrmProductId: null,
    productUri: uri,
    productName: `Product ${uri}`,
    gmsPid: `gms-${uri.replaceAll('.', '-')}`,
    appKey: null,
    productType: null,
    limitStartTime: PLACED,
    limitEndTime: ends,
    limitConcurrent: nodes ?? 1,
    limitTimeDuration: null,
    trial: trial ?? 0,
    trialEndTime: trial === 1 ? UNTIL : null,
    passwords: [],
    timeUnit: null,
    timeUnitQuantity: null,
    timeDurationExpression: null,
    srcLicenseOrderId: null,
    features: [],
    active: true,
    removed: false,
    createTime: PLACED,
    updateTime: null,
  };
  state.products.put(instance);
}

function putMerchandise(
  { state }: World,
  origin: Origin,
  name: string,
  merchandiseNum: string,
  parent: { id: string; merchandiseNum: string } | null,
): string {
  const id = instanceId('mer', origin.licenseOrderId, name);
  state.merchandises.put({
    ...origin,
    id,
    parentId: parent?.id ?? null,
    crmProductId: `CM-${origin.channelOrderId}-${name}`,
    parentCrmProductId: null,
    merchandiseNum,
    merchandiseName: `Package ${name}`,
    parentMerchandiseNum: parent?.merchandiseNum ?? null,
    timeDurationExpression: '1-0-0',
    srcLicenseOrderId: null,
    removed: false,
    createTime: PLACED,
    updateTime: null,
  });
  return id;
}

function instanceId(prefix: string, licenseOrderId: string, suffix: string): string {
  if (/^\d+$/.test(licenseOrderId)) return licenseOrderId.slice(0, -1) + suffix;
  return `${prefix}-${licenseOrderId.replace(/^lic-/, '')}-${suffix}`;
}
