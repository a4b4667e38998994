import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { AliasUsers } from '../upstream/alias-users.ts';
import { type CallContext, Progress } from '../request/call-context.ts';
import { ownCallOf } from '../request/make-call.ts';
import type { OperationName } from '../upstream/operations.ts';
import { PlatformReadings } from '../upstream/platform-readings.ts';
import { type Decode, UpstreamClient } from '../upstream/upstream.client.ts';
import { nothingIfUnknown } from '../upstream/unknown-enterprise.ts';
import type { UpstreamRequest } from '../upstream/upstream.exchange.ts';
import { type CustomerField, customerShape } from '../upstream/wire/order.ts';
import type { Reader } from '../upstream/wire/reader.ts';
import { isWholeFor, readDeciding } from '../upstream/wire/whole-list.ts';
import { EstateRowsStore } from './estate-rows-store.ts';

/** The time between two calls is this many times the duration of the last call, so that a slow platform gets fewer calls. */
const REST = 4;
const MAX_GAP_MS = 10_000;

/** Calls the platform for the estate: one attempt after the other, and two a second at most of all replicas together. It only reads. */
@Injectable()
export class EstatePlatform {
  #lastMs = 0;

  constructor(
    private readonly upstream: UpstreamClient,
    private readonly users: AliasUsers,
    private readonly store: EstateRowsStore,
    private readonly readings: PlatformReadings,
  ) {}

  /** `user` of the result is undefined where no user of the users file serves the enterprise. */
  contextFor(enterpriseGlobalId: string, abandon: AbortSignal): CallContext {
    const call = ownCallOf('estate', { user: this.users.forEnterprise(enterpriseGlobalId), abandon });
    return { ...call, turn: () => this.#turn(abandon) };
  }

  async read<T>(
    name: OperationName,
    context: CallContext,
    request: UpstreamRequest,
    decode: Decode<T>,
  ): Promise<T> {
    // Each call asks whether a maintenance stops it.
    const progress = new Progress();
    try {
      return await this.upstream.call(name, { ...context, progress }, request, decode);
    } finally {
      this.#lastMs = progress.upstreamMs;
    }
  }

  /** Returns the enterprises of a channel's customers. `isWhole` is false where the list may lack some of them. */
  enterprisesOf(
    channelCode: string,
    abandon: AbortSignal,
  ): Promise<{ readonly ids: readonly string[]; readonly isWhole: boolean }> {
    const query = { channelCode, defaultCustomer: 'N' };
    const deciding = this.readings.deciding('enterpriseGlobalId');
    return this.read('queryCustomers', this.contextFor('', abandon), { query }, (data, notes) => {
      const read = (customer: Reader<CustomerField>) => customer.id('enterpriseGlobalId') ?? '';
      const list = readDeciding(customerShape, data, deciding, read, notes);
      return { ids: list.items, isWhole: isWholeFor(list, deciding.fields) };
    });
  }

  /** Resolves to whether the refusal means that the platform does not know the enterprise. */
  async isUnknown(enterpriseGlobalId: string, refusal: unknown, abandon: AbortSignal): Promise<boolean> {
    try {
      const context = this.contextFor(enterpriseGlobalId, abandon);
      await nothingIfUnknown(this.upstream, context, enterpriseGlobalId)(refusal);
      return true;
    } catch {
      // What could not be found out is not known.
      return false;
    }
  }

  async #turn(abandon: AbortSignal): Promise<void> {
    const waitMs = await this.store.turn(Math.min(MAX_GAP_MS, REST * this.#lastMs));
    if (waitMs > 0) await sleep(waitMs, undefined, { signal: abandon, ref: false });
    abandon.throwIfAborted();
  }
}
