import { Injectable } from '@nestjs/common';
import { isProblem, Licensing, type OrderRecord } from '@licensing-gateway/client';

export interface Sale {
  /** The number of the invoice is the number of the order: whoever repeats the request cannot buy twice. */
  readonly invoice: string;
  readonly enterpriseGlobalId: string;
  readonly customerId: string;
  readonly productUri: string;
  readonly seats: number;
}

export interface Receipt {
  readonly invoice: string;
  /**
   * `delivered`, `in_doubt` (someone will find out; never sell it again under another number), `incomplete` (delivered, but the platform did
   * not name all licence orders), or another state of the order.
   */
  readonly state: string;
  readonly licenseOrderIds: readonly string[];
}

const CHANNEL = 'crm';

@Injectable()
export class SalesService {
  constructor(private readonly licensing: Licensing) {}

  async sell({ invoice, enterpriseGlobalId, customerId, productUri, seats }: Sale): Promise<Receipt> {
    try {
      const record = await this.licensing.orders.place({
        channelCode: CHANNEL,
        channelOrderId: invoice,
        items: [
          {
            orderType: 'new_buy',
            licenseType: 'cloud_account',
            customer: { customerId, enterpriseGlobalId },
            assets: [{ products: [{ productUri, limitConcurrent: seats }] }],
          },
        ],
      });
      return receiptOf(record);
    } catch (error) {
      // This is not a failure: the platform has the order or may have it, and the gateway goes on looking for it.
      if (isProblem(error, 'outcome-unknown'))
        return {
          invoice,
          state: error.outcome === 'processed' ? 'incomplete' : 'in_doubt',
          licenseOrderIds: [],
        };
      throw error;
    }
  }

  async receipt(invoice: string): Promise<Receipt> {
    return receiptOf(await this.licensing.orders.get({ channelCode: CHANNEL, channelOrderId: invoice }));
  }

  /** The seats of an enterprise: who could use what was sold. */
  async accounts(enterpriseGlobalId: string): Promise<readonly string[]> {
    const accounts: string[] = [];
    for await (const { userName } of this.licensing.members.each({ enterpriseGlobalId, pageSize: 200 }))
      if (userName !== null) accounts.push(userName);
    return accounts;
  }
}

function receiptOf({ channelOrderId, state, items }: OrderRecord): Receipt {
  return {
    invoice: channelOrderId,
    state: state === 'succeeded' ? 'delivered' : state,
    licenseOrderIds: items.flatMap(({ licenseOrderId }) => (licenseOrderId === null ? [] : [licenseOrderId])),
  };
}
