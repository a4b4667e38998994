import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OperationPolicy } from '../request/operation-policy.ts';
import type { ProblemSlug } from '../problem/catalogue.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import {
  ALL_GRANTS,
  type CallContext,
  isBound,
  isGranted,
  type IdKind,
  Progress,
  AuthorisedIds,
} from '../request/call-context.ts';
import { AliasUsers } from '../upstream/alias-users.ts';
import { callOf } from '../request/make-call.ts';
import { OwnershipCheck, type OwnershipLookup } from './ownership-check.ts';
import { type IdLocation, pointerOf, type EnterpriseScope, scopesOf } from './named-ids.ts';
import type { Name } from './names.ts';
import { Reservations } from './reservations.ts';

/**
 * The names that are looked up, their kinds, and the problem for a missing id. Without a problem the id is left out (the results of locks
 * report it).
 */
const LOOKED_UP: readonly { readonly name: Name; readonly kind: IdKind; readonly problem?: ProblemSlug }[] = [
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

type Stages = FastifyRequest['stages'];

/** One kind of id of one enterprise, with the locations of its ids in the request. */
interface Lookup extends OwnershipLookup {
  readonly problem: ProblemSlug | undefined;
  readonly reservable: boolean;
  readonly ids: Set<string>;
  readonly locations: Map<string, IdLocation | undefined>;
  readonly assetNums: Set<string>;
}

/**
 * The one check of the ids in a request (docs/api.md, section 2). Every enterprise and channel must be granted to the caller, and every
 * other id of a bound caller's request must be found in that enterprise. An id of another enterprise gets the same response as one that
 * does not exist. Callers that may reach every enterprise need no lookup. The upstream client sends no id of a bound caller that was not
 * looked up here. The guard decides everything that needs no call to the platform. The interceptor calls the lookup, after a repeated write
 * has got its first response (decision 16).
 */
@Injectable()
export class TenancyGuard implements CanActivate {
  constructor(
    private readonly ownership: OwnershipCheck,
    private readonly reservations: Reservations,
    private readonly users: AliasUsers,
  ) {}

  canActivate(context: ExecutionContext): boolean {
    const http = context.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const { stages } = request;
    const { policy } = stages.get('authorised');
    if (policy.scope === 'public') return true;
    const call = callOf(request, http.getResponse<FastifyReply>());
    stages.pass('reached', this.reach(call, policy, stages.get('validated')));
    return true;
  }

  /** The check itself, also for what is done long after its request. */
  reach(
    call: CallContext,
    policy: Pick<OperationPolicy, 'actsAsUser' | 'answersRepeats'>,
    { parameters, body }: Pick<NonNullable<Stages['validated']>, 'parameters' | 'body'>,
  ): NonNullable<Stages['reached']> {
    const { enterprises, channels } = call.caller.grants;
    if (enterprises.has('*') && channels.has('*')) return { call, lookUp: undefined };
    const scopes = scopesOf(parameters, body);
    for (const scope of scopes) assertGranted(scope, call.caller);
    if (!isBound(call.caller.grants)) return { call, lookUp: undefined };
    for (const scope of scopes) assertComplete(scope);
    const lookups = lookupsOf(scopes, policy.actsAsUser ?? false);
    const authorisedIds = new AuthorisedIds();
    const bound = { ...call, authorisedIds };
    const lookUp =
      lookups.length === 0 ? undefined : () => this.#lookUp(lookups, authorisedIds, bound, policy);
    return { call: bound, lookUp };
  }

  async #lookUp(
    lookups: readonly Lookup[],
    authorisedIds: AuthorisedIds,
    call: CallContext,
    policy: Pick<OperationPolicy, 'actsAsUser' | 'answersRepeats'>,
  ): Promise<void> {
    // The gateway reads on its own behalf: the enterprise is granted, and its lists are the same for all callers.
    const own: CallContext = {
      ...call,
      caller: { ...call.caller, grants: ALL_GRANTS },
      fresh: false,
      abandon: undefined,
      progress: new Progress(),
    };
    const as = ({ enterprise }: Lookup): CallContext =>
      policy.actsAsUser ? own : { ...own, user: own.user ?? this.users.forEnterprise(enterprise) };
    const started = performance.now();
    let problem: ProblemException | undefined;
    try {
      const missing = await settleAll(
        lookups.map((lookup) => this.#missing(lookup, as(lookup), authorisedIds)),
      );
      problem = problemOf(lookups, missing);
    } catch (error) {
      if (!(error instanceof ProblemException)) throw error;
      problem = error;
    }
    if (own.progress.upstreamMs > 0) call.progress.lookupMs += performance.now() - started;
    if (!problem) return;
    if (!policy.answersRepeats) throw problem;
    authorisedIds.refuse(problem);
  }

  /** Returns the missing ids and adds the others to the authorised ids. */
  async #missing(
    lookup: Lookup,
    call: CallContext,
    authorisedIds: AuthorisedIds,
  ): Promise<ReadonlySet<string>> {
    const reserved = lookup.reservable
      ? await this.reservations.findOwn(call.caller.name, lookup.enterprise, lookup.ids)
      : new Set<string>();
    for (const assetNum of reserved) authorisedIds.reserved.push({ assetNum, enterprise: lookup.enterprise });
    const ids = lookup.ids.difference(reserved);
    const missing = ids.size === 0 ? ids : await this.ownership.missing({ ...lookup, ids }, call);
    authorisedIds.add(lookup.kind, lookup.ids.difference(missing));
    if (lookup.problem === undefined) for (const id of missing) authorisedIds.notFound.add(id);
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

function assertGranted({ ids }: EnterpriseScope, { grants }: CallContext['caller']): void {
  for (const name of ['enterprise', 'enterpriseFilter', 'channel'] as const) {
    const [what, granted] =
      name === 'channel' ? ['channel', grants.channels] : ['enterprise', grants.enterprises];
    for (const { id, location } of ids.get(name) ?? []) {
      if (isGranted(granted, id) || (name === 'enterpriseFilter' && isAll(id, location))) continue;
      throw new ProblemException('forbidden', {
        detail: `This ${what} is not granted to the caller.`,
        errors: location && [{ pointer: pointerOf(location), detail: 'is not granted to the caller' }],
      });
    }
  }
}

/** True for the `*` of a list of filters, which stands for all that are granted. */
function isAll(id: string, location: IdLocation | undefined): boolean {
  return id === '*' && typeof location?.key === 'number';
}

/**
 * Refuses a bound caller's request that cannot be looked up: it must name the enterprise of its ids, and an order must name its customer.
 */
function assertComplete({ enterprise, locationOf, ids }: EnterpriseScope): void {
  const [crm] = ids.get('crmCustomer') ?? [];
  if (crm)
    throw refused(
      crm.location,
      'cannot be looked up, so a caller with a limited set of enterprises must not name it',
    );
  const lookedUp = LOOKED_UP.some(({ name }) => ids.has(name));
  const enterpriseLocation = locationOf('enterprise');
  if (!enterprise && (lookedUp || enterpriseLocation))
    throw refused(enterpriseLocation, 'must name an enterprise that is granted');
  const customerLocation = locationOf('customer');
  if (customerLocation && !ids.has('customer')) throw refused(customerLocation, 'must name the customer');
}

function refused(location: IdLocation | undefined, detail: string): ProblemException {
  return new ProblemException('forbidden', {
    detail: 'A caller with a limited set of enterprises may name only ids that belong to one of them.',
    errors: location && [{ pointer: pointerOf(location), detail }],
  });
}

/** Returns the lookups. Items of an order that name the same enterprise are looked up together. */
function lookupsOf(scopes: readonly EnterpriseScope[], ofMembers: boolean): Lookup[] {
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
          ofMembers,
          channel,
          problem,
          reservable: name === 'newAssetNum',
          ids: new Set(),
          locations: new Map(),
          assetNums: new Set(),
        };
        lookups.set(key, lookup);
      }
      for (const { id, location } of named) {
        if (!lookup.ids.has(id)) lookup.locations.set(id, location);
        lookup.ids.add(id);
      }
      if (kind === 'order')
        for (const { id } of [...(ids.get('assetNum') ?? []), ...(ids.get('newAssetNum') ?? [])])
          lookup.assetNums.add(id);
    }
  }
  return [...lookups.values()];
}

/** Returns the problem of the first kind with missing ids, with all of their locations in the body. */
function problemOf(
  lookups: readonly Lookup[],
  missing: readonly ReadonlySet<string>[],
): ProblemException | undefined {
  const slug = lookups.find(({ problem }, index) => problem && (missing[index]?.size ?? 0) > 0)?.problem;
  if (!slug) return undefined;
  const errors = lookups.flatMap(({ problem, locations }, index) =>
    problem === slug
      ? [...(missing[index] ?? [])].flatMap((id) => {
          const location = locations.get(id);
          return location ? [{ pointer: pointerOf(location), detail: 'does not exist' }] : [];
        })
      : [],
  );
  return new ProblemException(slug, errors.length > 0 ? { errors: errors.slice(0, MAX_ERRORS) } : {});
}

const MAX_ERRORS = 100;
