/** The products and merchandises of an order's body (section 2.4). */
import { invalid } from '../errors.ts';
import type { MerchandiseInstance, ProductFeature, ProductTerms } from '../state/records.ts';
import type { Fields } from './fields.ts';

export interface MerchandiseTerms extends Pick<
  MerchandiseInstance,
  | 'crmProductId'
  | 'parentCrmProductId'
  | 'merchandiseNum'
  | 'merchandiseName'
  | 'parentMerchandiseNum'
  | 'timeDurationExpression'
> {
  readonly children: readonly MerchandiseTerms[];
  readonly products: readonly ProductTerms[];
}

export const PRODUCT_FIELDS = new Set(
  (
    'crmProductId parentCrmProductId productUri productName gmsPid appKey productType limitStartDate limitEndDate ' +
    'limitConcurrent limitTimeDuration strictMatchWhenDelete trial trialEndDate passwords timeUnit timeUnitQuantity ' +
    'timeDurationExpression srcLicenseOrderId productFeatures'
  ).split(' '),
);

export const MERCHANDISE_FIELDS = new Set(
  (
    'crmProductId parentCrmProductId merchandiseNum merchandiseName parentMerchandiseNum timeDurationExpression children ' +
    'licenseOrderProductList'
  ).split(' '),
);

const FEATURE_FIELDS = new Set(
  'featureCode featureName featureValue featureValueType trial trialEndDate'.split(' '),
);

/** The deepest nesting of merchandises. The interface sets no limit. */
const MAX_DEPTH = 32;

export function readProduct(fields: Fields): ProductTerms {
  const gmsPid = fields.text('gmsPid');
  const appKey = fields.text('appKey');
  // A gmsPid or an appKey ("productUri: a gmsPid or an appKey") names the product if the uri is absent.
  const productUri = fields.text('productUri') ?? gmsPid ?? appKey;
  if (productUri === null) throw invalid(`${fields.at('productUri')} must not be empty`);
  return {
    crmProductId: fields.text('crmProductId'),
    parentCrmProductId: fields.text('parentCrmProductId'),
    productUri,
    productName: fields.text('productName'),
    gmsPid,
    appKey,
    productType: fields.text('productType'),
    limitStartTime: fields.time('limitStartDate'),
    limitEndTime: fields.time('limitEndDate'),
    limitConcurrent: readConcurrent(fields),
    limitTimeDuration: fields.long('limitTimeDuration'),
    trial: readTrial(fields) ?? 0,
    trialEndTime: readProductTrialEnd(fields),
    passwords: fields.texts('passwords'),
    timeUnit: fields.text('timeUnit'),
    timeUnitQuantity: fields.integer('timeUnitQuantity'),
    timeDurationExpression: readDuration(fields),
    srcLicenseOrderId: fields.text('srcLicenseOrderId'),
    features: fields.objects('productFeatures', FEATURE_FIELDS, readFeature),
  };
}

export function readMerchandise(fields: Fields, depth: number): MerchandiseTerms {
  if (depth > MAX_DEPTH) throw invalid(`${fields.path} is nested too deep`);
  return {
    crmProductId: fields.text('crmProductId'),
    parentCrmProductId: fields.text('parentCrmProductId'),
    merchandiseNum: fields.requiredText('merchandiseNum'),
    merchandiseName: fields.text('merchandiseName'),
    parentMerchandiseNum: fields.text('parentMerchandiseNum'),
    timeDurationExpression: readDuration(fields),
    children: fields.objects('children', MERCHANDISE_FIELDS, (child) => readMerchandise(child, depth + 1)),
    products: fields.objects('licenseOrderProductList', PRODUCT_FIELDS, readProduct),
  };
}

function readFeature(fields: Fields): ProductFeature {
  return {
    featureCode: fields.requiredText('featureCode'),
    featureName: fields.text('featureName'),
    featureValue: fields.text('featureValue'),
    featureValueType: fields.text('featureValueType'),
    trial: readTrial(fields),
    trialEndDate: readTrialEnd(fields),
  };
}

/** Reads a number of nodes. -1 means "no limit", or is no number of nodes, as the profile says. */
function readConcurrent(fields: Fields): number | null {
  const nodes = fields.integer('limitConcurrent');
  if (nodes !== null && nodes < 0 && fields.profile.negativeLimits === 'refused')
    throw invalid(`${fields.at('limitConcurrent')} must not be negative`);
  return nodes;
}

/** Reads a time, or seconds that fit into an integer of 32 bits. */
function readProductTrialEnd(fields: Fields): number | null {
  if (fields.profile.productTrialEnd === 'time') return fields.time('trialEndDate');
  const seconds = fields.integer('trialEndDate');
  if (seconds !== null && seconds > MAX_INTEGER) throw invalid(`${fields.at('trialEndDate')} is too large`);
  return seconds === null ? null : seconds * 1000;
}

/** Reads a "date" without a given form (section 2.4), which is kept unchanged. */
function readTrialEnd(fields: Fields): unknown {
  const end = fields.raw('trialEndDate');
  if (end !== null && fields.profile.featureTrialEnd === 'text' && typeof end !== 'string')
    throw invalid(`${fields.at('trialEndDate')} must be a date`);
  return end;
}

function readTrial(fields: Fields): number | null {
  const trial = fields.integer('trial');
  if (trial !== null && trial !== 0 && trial !== 1) throw invalid(`${fields.at('trial')} must be 0 or 1`);
  return trial;
}

/** The largest integer of 32 bits. */
const MAX_INTEGER = 2 ** 31 - 1;

/** Reads `y-m-d`, such as `1-0-0` for a year. */
function readDuration(fields: Fields): string | null {
  const expression = fields.text('timeDurationExpression');
  if (expression !== null && !/^\d{1,4}-\d{1,4}-\d{1,5}$/.test(expression)) {
    throw invalid(`${fields.at('timeDurationExpression')} must have the form y-m-d`);
  }
  return expression;
}
