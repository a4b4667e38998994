import type {
  Event,
  EventsMethods,
  Groups,
  JobsMethods,
  MembersMethods,
  OrderRecord,
  OrdersMethods,
  PlaceOrderInput,
} from './api.ts';
import type { CallOptions, EventsOptions, Operation, Walk, WalkOptions } from './call-options.ts';
import { Exchange, type LicensingOptions } from './exchange.ts';
import type { Acting } from './prepare.ts';
import { type EventsInput, ImportJob, StreamCalls } from './jobs.ts';
import { operations } from './operations.ts';
import { placeAndWait, type WaitOptions } from './place-and-wait.ts';

export type * from './api.ts';
export type { CallOptions, EventsOptions, Walk, WalkOptions } from './call-options.ts';
export { type LicensingOptions, type ResponseFacts, responseOf } from './exchange.ts';
export type { EventsInput, ImportJob, ImportOptions, RowFormat, Rows } from './jobs.ts';
export { OrderNotSettled, type WaitOptions } from './place-and-wait.ts';
export { GatewayUnreachable, isGatewayUnreachable, isProblem, type OrderKey, Problem } from './problem.ts';

type Input = Readonly<Record<string, unknown>>;
type Call = (id: string, operation: Operation, input?: Input, options?: CallOptions) => Promise<unknown>;
interface Page {
  readonly items: readonly unknown[];
  /** Null where the platform does not count. */
  readonly totalPages: number | null;
}

export interface Orders extends OrdersMethods {
  /** Places the order, and reads its record until it is settled. It never sends the order twice. */
  placeAndWait(order: PlaceOrderInput, options?: WaitOptions): Promise<OrderRecord>;
}

export interface Members extends MembersMethods, Pick<StreamCalls, 'import' | 'previewImport' | 'export'> {}

export interface Events extends EventsMethods {
  /** Yields every event from now on, or after the cursor `after`, without an end. Each event comes once, even if the connection is lost. */
  each(input?: EventsInput, options?: EventsOptions): Walk<Event>;
}

export interface Jobs extends JobsMethods {
  /** Returns a job that runs already, even one of another process. The options are those of its watch. */
  follow(jobId: string, options?: EventsOptions): ImportJob;
}

/** Makes the groups of methods of the table of operations. */
function groupsOf(call: Call): Groups {
  const groups: Record<string, Record<string, unknown>> = {};
  for (const [id, operation] of Object.entries(operations)) {
    const group = (groups[operation.group] ??= {});
    group[operation.name] = (input?: Input, options?: CallOptions) => call(id, operation, input, options);
    const { each, preview } = operation;
    if (each)
      group[each === true ? 'each' : each] = (input?: Input, options?: WalkOptions) =>
        walk(call, id, operation, input, options);
    if (preview)
      group[preview === true ? previewOf(operation.name) : preview] = (
        input?: Input,
        options?: CallOptions,
      ) => call(id, { ...operation, dry: true }, input, options);
  }
  return groups as unknown as Groups;
}

/** Returns the name of a method's dry run. */
function previewOf(name: string): string {
  return `preview${name[0]?.toUpperCase()}${name.slice(1)}`;
}

/** A base class that has the groups as fields, without a line for each of them. */
const WithGroups = function (this: object, call: Call) {
  Object.assign(this, groupsOf(call));
} as unknown as new (call: Call) => Groups;

/** A client of the licensing gateway. */
export class Licensing extends WithGroups {
  declare readonly orders: Orders;
  declare readonly members: Members;
  declare readonly events: Events;
  declare readonly jobs: Jobs;
  readonly #exchange: Exchange;

  constructor(options?: LicensingOptions);
  /** @internal A view: see `as`. */
  constructor(options: Exchange, acting: Acting);
  constructor(options: LicensingOptions | Exchange = {}, acting?: Acting) {
    const exchange = options instanceof Exchange ? options : new Exchange(options);
    super((id, operation, input = {}, callOptions = {}) =>
      exchange.call(id, operation, input, callOptions, acting),
    );
    this.#exchange = exchange;
    const streams = new StreamCalls(exchange, acting);
    Object.assign(this.members, {
      import: streams.import.bind(streams),
      previewImport: streams.previewImport.bind(streams),
      export: streams.export.bind(streams),
    } satisfies Partial<Members>);
    this.events.each = streams.events.bind(streams);
    this.jobs.follow = (jobId, watch) => new ImportJob(jobId, streams, watch);
    this.orders.placeAndWait = (order, waitOptions) => placeAndWait(this.orders, order, waitOptions);
  }

  /** Returns the same client, but this configured user of the platform acts in its member operations. */
  as(alias: string): Licensing {
    return new Licensing(this.#exchange, { user: alias });
  }

  /** Returns the same client, but the user of this session acts in its member operations; see `sessions.create`. */
  withSession(sessionId: string): Licensing {
    return new Licensing(this.#exchange, { session: sessionId });
  }
}

async function* walk(
  call: Call,
  id: string,
  operation: Operation,
  input?: Input,
  options?: WalkOptions,
): AsyncGenerator<unknown, void, undefined> {
  let page = Number(input?.['page'] ?? 1);
  for (;;) {
    const read = (await call(id, operation, { ...input, page }, options)) as Page;
    const { items, totalPages } = read;
    options?.onPage?.(read);
    yield* items;
    if (totalPages === null ? items.length === 0 : page >= totalPages) return;
    page++;
  }
}
