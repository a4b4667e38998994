import { type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { OperationPolicy } from '../caller/operation-policy.ts';
import type { ProblemSlug } from '../problem/catalogue.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { type CallContext, isGranted, type OwnKind, Reach } from '../upstream/call-context.ts';
import { isBound } from '../upstream/tenancy.ts';
import { validatedAhead } from '../validation/validation.pipe.ts';
import { Belongings, type Question } from './belongings.ts';
import { type NamedId, type Place, pointerOf, type EnterpriseScope, scopesOf } from './named-ids.ts';
import type { Name } from './names.ts';
import { Reservations } from './reservations.ts';

const EVERYTHING: ReadonlySet<string> = new Set(['*']);
const ALL_GRANTS = { enterprises: EVERYTHING, channels: EVERYTHING, users: EVERYTHING };

/**
 * The names that are looked up, their kinds, and the problem for a missing id. Without a problem the id is left out (the results of
 * locks report it).
 */
const LOOKED_UP: readonly { readonly name: Name; readonly kind: OwnKind; readonly problem?: ProblemSlug }[] =
  [
    { name: 'member', kind: 'member', problem: 'member-not-found' },
    { name: 'customer', kind: 'customer', problem: 'customer-not-found' },
    { name: 'channelCustomer', kind: 'channelCustomer', problem: 'customer-not-found' },
    { name: 'asset', kind: 'asset', problem: 'asset-not-found' },
    { name: 'assetNum', kind: 'assetNum', problem: 'asset-not-found' },
    { name: 'newAssetNum', kind: 'assetNum', problem: 'asset-not-found' },
    { name: 'lock', kind: 'assetNum' },
    { name: 'lentLock', kind: 'lentLock', problem: 'asset-not-found' },
    { name: 'order', kind: 'order', problem: 'order-not-found' },
  ];

/** One kind of id of one enterprise, with the locations of its ids in the request. */
interface Lookup extends Question {
  readonly problem: ProblemSlug | undefined;
  readonly reservable: boolean;
  readonly ids: Set<string>;
  readonly places: Map<string, Place | undefined>;
  readonly assetNums: Set<string>;
}

/**
 * Checks the requests of bound callers before the handler (docs/api.md, section 2). Every enterprise and channel that a request
 * names must be granted, and every other id must be found in that enterprise. An id of another enterprise gets the same response as
 * one that does not exist. Callers that may reach every enterprise need no lookup.
 */
@Injectable()
export class Tenancy {
  constructor(
    private readonly belongings: Belongings,
    private readonly reservations: Reservations,
  ) {}

  /** Called by the interceptors that `@Operation` sets. The upstream client sends no id that was not looked up here. */
  check(context: ExecutionContext): Promise<void> | undefined {
    return this.granted(context)?.();
  }

  /**
   * Throws where a request names what is not granted, which takes no lookup. Returns the lookup of everything else that it names;
   * undefined where there is nothing to look up.
   */
  granted(context: ExecutionContext): (() => Promise<void>) | undefined {
    const { call, policy } = context.switchToHttp().getRequest<FastifyRequest>().state;
    if (!call || !policy || !isBound(call.caller.grants)) return undefined;
    const { parameters, body } = validatedAhead(context);
    const scopes = scopesOf(parameters, body);
    for (const scope of scopes) assertNamed(scope, call);
    const lookups = lookupsOf(scopes);
    const reach = new Reach();
    call.reach = reach;
    return lookups.length === 0 ? undefined : () => this.#lookUp(lookups, reach, call, policy);
  }

  async #lookUp(
    lookups: readonly Lookup[],
    reach: Reach,
    call: CallContext,
    policy: OperationPolicy,
  ): Promise<void> {
    // The gateway reads on its own behalf: the enterprise is granted, and its lists are the same for all callers.
    const own: CallContext = { ...call, caller: { ...call.caller, grants: ALL_GRANTS }, upstreamMs: 0 };
    const ofOrders: CallContext = policy.actsAsUser ? own : { ...own, user: undefined };
    const started = performance.now();
    const missing = await settleAll(
      lookups.map((lookup) => this.#missing(lookup, lookup.kind === 'order' ? own : ofOrders, reach)),
    );
    if (own.upstreamMs + ofOrders.upstreamMs > 0) call.lookupMs = performance.now() - started;
    const problem = problemOf(lookups, missing);
    if (!problem) return;
    if (!policy.answersRepeats) throw problem;
    call.reach = new Reach(problem);
  }

  /** Returns the missing ids and adds the others to the reach. */
  async #missing(lookup: Lookup, call: CallContext, reach: Reach): Promise<ReadonlySet<string>> {
    const reserved = lookup.reservable
      ? await this.reservations.of(call.caller.name, lookup.enterprise, lookup.ids)
      : new Set<string>();
    for (const assetNum of reserved) reach.reserved.push({ assetNum, enterprise: lookup.enterprise });
    const ids = lookup.ids.difference(reserved);
    const missing = ids.size === 0 ? ids : await this.belongings.missing({ ...lookup, ids }, call);
    reach.add(lookup.kind, lookup.ids.difference(missing));
    if (lookup.problem === undefined) for (const id of missing) reach.left.add(id);
    return missing;
  }
}

/** Waits for all lookups, so that none is running when the response is sent. */
async function settleAll<T>(lookups: readonly Promise<T>[]): Promise<T[]> {
  const settled = await Promise.allSettled(lookups);
  return settled.map((one) => {
    if (one.status === 'rejected') throw one.reason;
    return one.value;
  });
}

/** Checks that the names are granted, and that an order names its enterprise and customer. */
function assertNamed({ enterprise, placeOf, ids }: EnterpriseScope, { caller }: CallContext): void {
  const { enterprises, channels } = caller.grants;
  for (const named of ids.get('enterprise') ?? []) assertGranted(enterprises, named, 'enterprise');
  for (const named of ids.get('channel') ?? []) assertGranted(channels, named, 'channel');
  const [crm] = ids.get('crmCustomer') ?? [];
  if (crm)
    throw refused(
      crm.place,
      'cannot be looked up, so a caller with a limited set of enterprises must not name it',
    );
  const lookedUp = LOOKED_UP.some(({ name }) => ids.has(name));
  const enterprisePlace = placeOf('enterprise');
  if (!enterprise && (lookedUp || enterprisePlace))
    throw refused(enterprisePlace, 'must name an enterprise that is granted');
  const customerPlace = placeOf('customer');
  if (customerPlace && !ids.has('customer')) throw refused(customerPlace, 'must name the customer');
}

function assertGranted(granted: ReadonlySet<string>, { id, place }: NamedId, what: string): void {
  if (isGranted(granted, id)) return;
  throw new ProblemException('forbidden', {
    detail: `This ${what} is not granted to the caller.`,
    ...(place && { errors: [{ pointer: pointerOf(place), detail: 'is not granted to the caller' }] }),
  });
}

function refused(place: Place | undefined, detail: string): ProblemException {
  return new ProblemException('forbidden', {
    detail: 'A caller with a limited set of enterprises may name only ids that belong to one of them.',
    ...(place && { errors: [{ pointer: pointerOf(place), detail }] }),
  });
}

/** Items of an order that name the same enterprise are looked up together. */
function lookupsOf(scopes: readonly EnterpriseScope[]): Lookup[] {
  const lookups = new Map<string, Lookup>();
  const channelCode = scopes[0]?.ids.get('channel')?.[0]?.id;
  for (const { enterprise, ids } of scopes) {
    if (!enterprise) continue;
    const channelCustomerId = ids.get('channelCustomer')?.[0]?.id;
    const isCustomer = channelCode !== undefined && channelCustomerId !== undefined;
    for (const { name, kind, problem } of LOOKED_UP) {
      const named = ids.get(name);
      if (!named) continue;
      const ofCustomer = isCustomer && (kind === 'customer' || kind === 'channelCustomer');
      const channel = ofCustomer ? { channelCode, channelCustomerId } : undefined;
      const key = JSON.stringify([name, enterprise.id, channel]);
      let lookup = lookups.get(key);
      if (!lookup) {
        lookup = {
          enterprise: enterprise.id,
          kind,
          channel,
          problem,
          reservable: name === 'newAssetNum',
          ids: new Set(),
          places: new Map(),
          assetNums: new Set(),
        };
        lookups.set(key, lookup);
      }
      for (const { id, place } of named) {
        if (!lookup.ids.has(id)) lookup.places.set(id, place);
        lookup.ids.add(id);
      }
      if (kind === 'order')
        for (const { id } of [...(ids.get('assetNum') ?? []), ...(ids.get('newAssetNum') ?? [])])
          lookup.assetNums.add(id);
    }
  }
  return [...lookups.values()];
}

/** The problem of the first kind with missing ids, with all of their locations in the body. */
function problemOf(
  lookups: readonly Lookup[],
  missing: readonly ReadonlySet<string>[],
): ProblemException | undefined {
  const slug = lookups.find(({ problem }, index) => problem && (missing[index]?.size ?? 0) > 0)?.problem;
  if (!slug) return undefined;
  const errors = lookups.flatMap(({ problem, places }, index) =>
    problem === slug
      ? [...(missing[index] ?? [])].flatMap((id) => {
          const place = places.get(id);
          return place ? [{ pointer: pointerOf(place), detail: 'does not exist' }] : [];
        })
      : [],
  );
  return new ProblemException(slug, errors.length > 0 ? { errors: errors.slice(0, MAX_ERRORS) } : {});
}

const MAX_ERRORS = 100;
