import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { newTrace } from '../observability/tracing.ts';
import type { SoughtCustomer } from '../order-ledger/ledger-record.ts';
import { AliasUsers } from '../session/acting-user.guard.ts';
import { type CallContext, Progress } from '../upstream/call-context.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { UpstreamFailure } from '../upstream/upstream-failure.ts';
import { assetShape, customerShape } from '../upstream/wire/order.ts';
import { type Instance, toInstances } from '../upstream/wire/instances.ts';
import { readList } from '../upstream/wire/reader.ts';

/** The search has no caller whose user could act, so it acts as this one. */
const ALIAS = 'default';
const EVERYTHING = new Set(['*']);
/** The platform refuses a single asset with these codes: it was deleted, or belongs to another enterprise now. */
const ABOUT_AN_ASSET: ReadonlySet<string> = new Set(['60024', '60025']);

/** An asset, and the products and packages on it. */
export interface Holding {
  readonly assetNum: string | null;
  readonly contents: readonly Instance[];
  /** False where the platform refuses to show them, or its response violates the interface. */
  readonly isWhole: boolean;
}

/** Reads what an enterprise has (order #8, member #7), and which enterprise a customer belongs to (order #3). It cannot write. */
@Injectable()
export class PlatformSearch {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly users: AliasUsers,
    private readonly config: UpstreamConfig,
  ) {}

  /** Whether there is a user: the platform shows products to users only. */
  get possible(): boolean {
    return this.users.find(ALIAS) !== undefined;
  }

  /** Reads one asset after the other, to leave capacity for callers. Rejects if the platform does not respond. */
  async holdings(enterpriseGlobalId: string, abandon: AbortSignal): Promise<Holding[]> {
    const call = this.#call(abandon);
    const assets = await this.upstream.call('listAssets', call, { ids: { enterpriseGlobalId } }, toAssets);
    const holdings: Holding[] = [];
    for (const { assetId, assetNum } of assets) {
      abandon.throwIfAborted();
      const contents: Instance[] = [];
      holdings.push({ assetNum, contents, isWhole: await this.#read(call, assetId, contents) });
    }
    return holdings;
  }

  /** Undefined where the channel does not show the customer, it has no enterprise, or its number is that of several. */
  async enterpriseOf(
    channelCode: string,
    { customerId, channelCustomerId }: SoughtCustomer,
    abandon: AbortSignal,
  ): Promise<string | undefined> {
    const query = { channelCode, channelCustomerId, defaultCustomer: 'N' };
    const customers = await this.upstream.call('queryCustomers', this.#call(abandon), { query }, toCustomers);
    const isSought = (each: Customer) =>
      customerId === undefined
        ? each.channelCustomerId === channelCustomerId
        : each.customerId === customerId;
    const [enterprise, ...others] = new Set(
      customers.filter(isSought).map((each) => each.enterpriseGlobalId),
    );
    return others.length === 0 ? (enterprise ?? undefined) : undefined;
  }

  /** Adds what is on the asset. False where something may be missing. */
  async #read(call: CallContext, assetId: string, contents: Instance[]): Promise<boolean> {
    try {
      await this.upstream.call('listAssetProducts', call, { ids: { assetId } }, (data) =>
        toInstances(data, this.config.timestampUnit, contents),
      );
      return true;
    } catch (error) {
      if (isAboutOneAsset(error)) return false;
      throw error;
    }
  }

  #call(abandon: AbortSignal): CallContext {
    return {
      requestId: randomUUID(),
      trace: newTrace(),
      caller: {
        name: 'reconciliation',
        grants: { enterprises: EVERYTHING, channels: EVERYTHING, users: EVERYTHING },
      },
      user: this.users.find(ALIAS),
      abandon,
      progress: new Progress(),
    };
  }
}

function isAboutOneAsset(error: unknown): boolean {
  if (!(error instanceof UpstreamFailure)) return false;
  return error.kind === 'nonconforming' || ABOUT_AN_ASSET.has(error.details.code ?? '');
}

function toAssets(data: unknown) {
  return readList(assetShape, data, undefined, (asset) => ({
    assetId: asset.requiredId('id'),
    assetNum: asset.id('assetNum'),
  }));
}

type Customer = ReturnType<typeof toCustomers>[number];

function toCustomers(data: unknown) {
  return readList(customerShape, data, undefined, (customer) => ({
    customerId: customer.requiredId('customerId'),
    channelCustomerId: customer.id('channelCustomerId'),
    enterpriseGlobalId: customer.id('enterpriseGlobalId'),
  }));
}
