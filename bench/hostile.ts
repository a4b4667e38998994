import type { Fleet } from '../test/support/fleet.ts';
import type { TestSandbox } from '../test/support/sandbox.ts';
import { pidOf } from './processes.ts';

/** Requests of hostile callers, or of too many callers. */

export const ASSETS = '/v1/enterprises/ent-harbour/assets';
/** What the orders that are placed first do not make longer. */
export const CUSTOMERS = '/v1/customers?channelCode=crm&channelCustomerId=CH-1001';
export const VALIDATE = '/v1/license-orders?validateOnly=true';
export const MIB = 1024 * 1024;

type Measured = { readonly measured: string; readonly holds: boolean };
export type Scenario = (fleet: Fleet, sandbox: TestSandbox) => Promise<Measured>;

/** Of the gateway. */
export const pidsOf = (fleet: Fleet) => [pidOf(gatewayOf(fleet).child)];

export const gatewayOf = ({ gateways: [gateway] }: Fleet) => gateway as NonNullable<typeof gateway>;

/** Sends, reads, and returns the status; 0 without a response. */
export async function ask(
  fleet: Fleet,
  path: string,
  body?: string | Buffer,
  more: object = {},
): Promise<number> {
  try {
    const answer = await send(fleet, path, body, more);
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return 0;
  }
}

export function send(
  fleet: Fleet,
  path: string,
  body?: string | Buffer,
  more: object = {},
): Promise<Response> {
  const headers = { 'x-api-key': fleet.key, 'content-type': 'application/json', ...more };
  return fetch(gatewayOf(fleet).url + path, { method: body === undefined ? 'GET' : 'POST', headers, body });
}

/** An order of this many items, for a body of the wanted length. */
export function orderOf(items: number, noteLength = 0): string {
  const note = 'n'.repeat(noteLength);
  const item = {
    orderType: 'new_buy',
    licenseType: 'softkey',
    customer: { customerId: 'cus-harbour-default' },
    assets: [{ products: [{ productUri: 'draft.pro' }] }],
    ...(note && { branch: { name: note } }),
  };
  return JSON.stringify({
    channelCode: 'crm',
    channelOrderId: 'SO-bench',
    items: Array.from({ length: items }, () => item),
  });
}
