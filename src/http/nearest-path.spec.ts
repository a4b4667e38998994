import { expect, it } from '@jest/globals';
import { nearestPath } from './nearest-path.ts';

const templates = [
  '/v1/customers',
  '/v1/license-orders',
  '/v1/license-orders/:channelCode/:channelOrderId',
  '/v1/license-orders/:channelCode/:channelOrderId/assets',
  '/v1/enterprises/:enterpriseGlobalId/assets',
  '/v1/enterprises/:enterpriseGlobalId/members',
];

it.each([
  ['with a slash at its end', '/v1/customers/', '/v1/customers'],
  ['with a double slash', '/v1//customers', '/v1/customers'],
  ['without the version', '/license-orders', '/v1/license-orders'],
  ['with what a proxy left in front', '/api/v1/customers', '/v1/customers'],
  ['with letters mistaken', '/v1/custmers', '/v1/customers'],
  ['in other letters', '/v1/license_orders/crm/SO-1', '/v1/license-orders/:channelCode/:channelOrderId'],
  ['in the singular', '/v1/enterprise/ent-1/member', '/v1/enterprises/:enterpriseGlobalId/members'],
  ['with a decoded slash in its last part', '/v1/license-orders/crm/A/1', undefined],
  ['of another word', '/v1/weather', undefined],
  ['of nothing', '/', undefined],
  ['of many parts', `/v1${'/a'.repeat(5_000)}`, undefined],
  ['of many letters', `/v1/${'a'.repeat(8_000)}`, undefined],
])('the nearest to a path %s', (_, path, nearest) => {
  expect(nearestPath(path, templates)).toBe(nearest);
});
