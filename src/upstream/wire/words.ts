import { enumeration, type WordOf } from '../../shared/enumeration.ts';

/** The platform's own words (interface sections 2.4, 2.5 and 2.12). Requests may use no other words, but responses may contain new ones. */

export const licenseTypes = enumeration(
  'LicenseType',
  [
    'normal_unrecover_usbkey',
    'normal_recover_usbkey',
    'normal_unrecover_lan_usbkey',
    'normal_recover_lan_usbkey',
    'identity_usbkey',
    'identity_lan_usbkey',
    'softkey',
    'lan_softkey',
    'product_entity',
    'cloud_account',
    'cloud_customer',
    'cloud_personal',
    'lk_product_usbkey',
    'lk_auth_usbkey',
  ],
  'Kinds of licences: locks, certificates and cloud accounts',
);
export type LicenseType = WordOf<typeof licenseTypes>;

export const orderTypes = enumeration(
  'OrderType',
  ['new_buy', 'delete_asset', 'delete_product'],
  '`new_buy` buys, `delete_asset` revokes whole assets, `delete_product` revokes products of assets',
);
export type OrderType = WordOf<typeof orderTypes>;

export const customerTypes = enumeration('CustomerType', ['personal', 'company'], 'A person or a company');
export type CustomerType = WordOf<typeof customerTypes>;

export const syncModes = enumeration(
  'SyncMode',
  ['sync', 'async'],
  '`sync`: the response has the result; `async`: the platform places the order later',
);
export type SyncMode = WordOf<typeof syncModes>;

export const limitTypes = enumeration(
  'LimitType',
  ['basic', 'feature'],
  '`basic`: limit of the product; `feature`: extended limit of a feature point',
);
