import { Injectable } from '@nestjs/common';
import { EstateConfig } from '../config/app-config.ts';
import { LongReads } from '../database/long-reads.ts';
import { pageWith } from '../operation/page.dto.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import type { CallContext } from '../request/call-context.ts';
import type {
  EstateEnterpriseDto,
  EstatePageDto,
  EstateRowDto,
  EstateSummaryDto,
  EstateSummaryQuery,
  ListEstateQuery,
} from './estate.dto.ts';
import { EstateListStore, type WantedRows } from './estate-list-store.ts';
import { EstateRowsStore } from './estate-rows-store.ts';
import { timeText, toRow } from './estate.mapper.ts';

const ROWS_AT_A_TIME = 500;

/** What callers see of the copy: only enterprises that are granted to them. */
@Injectable()
export class EstateService {
  constructor(
    private readonly config: EstateConfig,
    private readonly lists: EstateListStore,
    private readonly rows: EstateRowsStore,
    private readonly reads: LongReads,
  ) {}

  /**
   * `incomplete`: the number of enterprises in the list's reach of which the copy does not have everything. It is one higher while further
   * enterprises may be unknown.
   */
  async list(
    wanted: ListEstateQuery,
    call: CallContext,
  ): Promise<{ readonly page: EstatePageDto; readonly incomplete: number }> {
    const { page, pageSize, sort } = wanted;
    const query = this.#queryOf(wanted, call);
    return this.reads.run(call, async () => {
      // The missing enterprises are counted first: a reading that ends in between must not make rows from before it whole.
      const incomplete = await this.#incomplete(query);
      const { found, total } = await this.lists.page(query, sort, (page - 1) * pageSize, pageSize);
      return { page: pageWith(found.map(toRow), total, wanted), incomplete };
    });
  }

  /** The same rows, without pages. */
  async stream(
    wanted: ListEstateQuery,
    call: CallContext,
  ): Promise<{ readonly rows: AsyncGenerator<EstateRowDto>; readonly incomplete: number }> {
    const query = this.#queryOf(wanted, call);
    const parts = this.lists.all(query, wanted.sort, ROWS_AT_A_TIME);
    const { reads } = this;
    async function* all() {
      for (;;) {
        const { value: part, done } = await reads.run(call, () => parts.next());
        if (done) return;
        yield* part.map(toRow);
      }
    }
    return { rows: all(), incomplete: await this.#incomplete(query) };
  }

  async summary({ enterpriseGlobalId }: EstateSummaryQuery, call: CallContext): Promise<EstateSummaryDto> {
    const query = this.#queryOf({ enterpriseGlobalId }, call);
    const { enterprises, sums, mayLack } = await this.reads.run(call, async () => ({
      mayLack: await this.#mayLack(query),
      enterprises: await this.#enterprises(query),
      sums: await this.lists.sums(query),
    }));
    const seen = enterprises.map(({ seenAt }) => seenAt);
    return {
      ...sums,
      seenAt:
        mayLack || seen.includes(null) ? null : (seen.flatMap((each) => each ?? []).toSorted()[0] ?? null),
      enterprises,
      byProduct: sums.byProduct.map((product) => ({ ...product, nextEndsAt: timeText(product.nextEndsAt) })),
    };
  }

  async refresh(enterpriseGlobalId: string): Promise<void> {
    this.#assertOn();
    await this.rows.want([enterpriseGlobalId], 'asked');
  }

  #assertOn(): void {
    if (this.config.refreshMs === undefined) throw new ProblemException('estate-off');
  }

  #queryOf(wanted: Partial<ListEstateQuery>, { caller }: CallContext): WantedRows {
    this.#assertOn();
    const { enterprises } = caller.grants;
    return {
      granted: enterprises.has('*') ? undefined : enterprises,
      enterprise: wanted.enterpriseGlobalId,
      licenseType: wanted.licenseType,
      productUri: wanted.productUri,
      endsAfter: msOf(wanted.endsAfter),
      endsBefore: msOf(wanted.endsBefore),
      unassigned: wanted.unassigned,
      member: wanted.memberGlobalId,
      find: wanted.find,
    };
  }

  async #incomplete(query: WantedRows): Promise<number> {
    const { granted, enterprise } = query;
    const mayLack = await this.#mayLack(query);
    const { known, whole } = await this.lists.counted(query);
    // An enterprise that is named and not known was never read.
    const all = enterprise === undefined ? (granted?.size ?? known) : 1;
    return all - whole + Number(mayLack);
  }

  /** A caller of all enterprises may have more of them than the copy knows, until the gateway has looked for them. */
  async #mayLack({ granted, enterprise }: WantedRows): Promise<boolean> {
    return granted === undefined && enterprise === undefined && !(await this.lists.hasLooked());
  }

  /** An enterprise of which the copy knows nothing yet is unread. */
  async #enterprises(query: WantedRows): Promise<EstateEnterpriseDto[]> {
    const known = await this.lists.enterprises(query);
    const { granted, enterprise } = query;
    const named = new Set(enterprise === undefined ? granted : [enterprise]);
    for (const { enterpriseGlobalId } of known) named.delete(enterpriseGlobalId);
    const unread = [...named].map((each) => ({
      enterpriseGlobalId: each,
      state: 'unread' as const,
      reason: null,
      seenAt: null,
    }));
    return [...known.map((each) => ({ ...each, seenAt: timeText(each.seenAt) })), ...unread];
  }
}

function msOf(time: string | undefined): number | undefined {
  return time === undefined ? undefined : Date.parse(time);
}
