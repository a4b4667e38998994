import type * as Client from '../../src/licensing.ts';

/** What a small program needs, in whatever runs it. */
export interface Place {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** The number of its order. */
  readonly number: string;
}

/** A small program that runs in Node, Bun, Deno and browsers: it has only what they all have, and is given the built client. */
export async function firstCalls(
  { Licensing, isProblem, responseOf }: typeof Client,
  { baseUrl, apiKey, number }: Place,
) {
  const licensing = new Licensing({ baseUrl, apiKey });
  const harbour = { enterpriseGlobalId: 'ent-harbour' };
  const assetNums: (string | null)[] = [];
  for await (const { assetNum } of licensing.assets.each(harbour)) assetNums.push(assetNum);

  await licensing.assetNums.list(harbour);
  const unchanged = responseOf(await licensing.assetNums.list(harbour))?.status;

  let problem: unknown;
  try {
    await licensing.members.get({ ...harbour, memberGlobalId: 'mem-nobody' });
  } catch (error) {
    problem = isProblem(error, 'member-not-found') ? [error.status, error.outcome] : String(error);
  }

  const { next: after } = await licensing.events.list({ limit: 1_000 });
  const { state } = await licensing.orders.place({
    channelCode: 'crm',
    channelOrderId: number,
    items: [
      {
        orderType: 'new_buy',
        licenseType: 'softkey',
        customer: { customerId: 'cus-harbour-default' },
        assets: [{ products: [{ productUri: 'draft.pro' }] }],
      },
    ],
  });
  let event: string | undefined;
  for await (const { type, subject } of licensing.events.each({ after })) {
    event = `${type} ${subject}`;
    break;
  }
  return { assetNums, unchanged, problem, state, event };
}

/** What is known of a call that gets no answer. */
export async function unanswered({ Licensing, isGatewayUnreachable }: typeof Client, baseUrl: string) {
  try {
    return await new Licensing({ baseUrl, apiKey: 'k', attempts: 1 }).health.live();
  } catch (error) {
    return isGatewayUnreachable(error) ? { sent: error.sent } : String(error);
  }
}
