import { Injectable } from '@nestjs/common';
import { SingleFlight } from '../kit/single-flight/single-flight.ts';
import { ReadCache } from '../read-cache/read-cache.ts';
import type { TextForm } from '../read-cache/response-store.ts';
import type { CallContext, OwnKind } from '../upstream/call-context.ts';
import { type Asked, type Columns, PlatformLists } from './platform-lists.ts';

/** The ids of a list, by kind. */
export class Listed {
  readonly #ids = new Map<string, ReadonlySet<string>>();

  constructor(readonly columns: Columns) {}

  has(kind: OwnKind, id: string): boolean {
    return this.ids(kind).has(id);
  }

  ids(kind: OwnKind): ReadonlySet<string> {
    let ids = this.#ids.get(kind);
    if (!ids) this.#ids.set(kind, (ids = new Set((this.columns[kind] ?? []).filter((id) => id !== null))));
    return ids;
  }

  /** The ids of one kind in the rows that have one of the ids of another. */
  beside(kind: OwnKind, other: OwnKind, ids: ReadonlySet<string>): string[] {
    const column = this.columns[kind] ?? [];
    return (this.columns[other] ?? []).flatMap((id, row) => {
      const found = column[row];
      return id !== null && ids.has(id) && found ? [found] : [];
    });
  }
}

const FORM: TextForm<Listed> = {
  toText: ({ columns }) => JSON.stringify(columns),
  fromText: (text) => new Listed(JSON.parse(text) as Columns),
};

export interface Found {
  readonly listed: Listed;
  /** Whether the list was read after this request came. */
  readonly fresh: boolean;
}

/** The ids in the lists of an enterprise, through the read cache: a hundredth of the data that the platform sends. */
@Injectable()
export class EnterpriseLists {
  readonly #refreshes = new SingleFlight<Listed>();

  constructor(
    private readonly cache: ReadCache,
    private readonly platform: PlatformLists,
  ) {}

  async read(asked: Asked, call: CallContext): Promise<Found> {
    if (this.cache.lifeOf(undefined) === 0) return { listed: await this.refreshed(asked, call), fresh: true };
    const { value, ageSeconds } = await this.#cached(asked, call, false);
    return { listed: value, fresh: ageSeconds === undefined };
  }

  /** Reads past the cache, one read at a time, so that requests for unknown ids cannot cause many reads. */
  refreshed(asked: Asked, call: CallContext): Promise<Listed> {
    const key = JSON.stringify([asked.list, asked.enterprise, asked.by, call.user?.name]);
    // The read that is under way may have begun before this request came.
    return this.#refreshes.next(key, () => this.#refresh(asked, call));
  }

  async #refresh(asked: Asked, call: CallContext): Promise<Listed> {
    if (this.cache.lifeOf(undefined) === 0) return new Listed(await this.platform.columns(asked, call));
    return (await this.#cached(asked, call, true)).value;
  }

  #cached(asked: Asked, call: CallContext, fresh: boolean) {
    const { list, enterprise, by = {} } = asked;
    const read = {
      operation: `lookup:${list}`,
      params: { enterpriseGlobalId: enterprise },
      query: by,
      call,
      lifeMs: this.cache.lifeOf(undefined),
      form: FORM,
    };
    return this.cache.read(read, fresh, async () => {
      const columns = await this.platform.columns(asked, call);
      return { value: new Listed(columns), length: lengthOf(columns) };
    });
  }
}

/** About as long as its JSON. */
function lengthOf(columns: Columns): number {
  return Object.values(columns).reduce(
    (sum, column) => sum + column.reduce((length, id) => length + (id?.length ?? 4) + 3, 0),
    0,
  );
}
