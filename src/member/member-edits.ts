import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { keepLease, underLease } from '../kit/lease/lease.ts';
import { poll } from '../kit/poll/poll.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { sha256 } from '../redis/key-names.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import type { CallContext } from '../request/call-context.ts';
import type { EnterpriseMemberPath } from './dto/member.dto.ts';

/** The longest wait for another edit of the same member. */
const WAIT_MS = 8_000;
/** The life of a lease. It is shorter than the wait, so that other edits go on if the process ends during an edit. */
const LEASE_MS = 6_000;
const RENEW_MS = 1_500;
const POLL_MS = 30;
const BUSY = 'Another edit of this member has not ended in time. Nothing was sent to the platform.';
const LOST =
  'Another edit of this member may have begun before this one was sent. Nothing was sent to the platform.';

/** Throws a problem if another replica may have edited the member since the edit began. An edit calls it right before it sends. */
export type Confirm = () => Promise<void>;

const confirmed: Confirm = () => Promise.resolve();

/**
 * Runs one edit of a member at a time, from the read of what the member has until the platform's response. The platform replaces whole
 * records, so two edits at once would each send what the other one has replaced. While Redis is away, edits go on, and only those of the
 * same process wait for each other.
 */
@Injectable()
export class MemberEdits {
  readonly #prefix: string;
  readonly #running = new Set<string>();
  /** The owner of all leases of this process, which runs one edit of a member at a time. */
  readonly #owner = randomUUID();

  constructor(private readonly redis: SharedRedis) {
    this.#prefix = `${redis.environment}:edit:`;
  }

  async run<T>(
    { dryRun }: CallContext,
    { enterpriseGlobalId, memberGlobalId }: EnterpriseMemberPath,
    edit: (confirm: Confirm) => Promise<T>,
  ): Promise<T> {
    if (dryRun) return edit(confirmed);
    // Ids in a path have no slash.
    const key = this.#prefix + sha256(`${enterpriseGlobalId}/${memberGlobalId}`);
    const giveUpAt = performance.now() + WAIT_MS;
    while (this.#running.has(key)) {
      if (performance.now() >= giveUpAt) throw busy(BUSY);
      await wait(POLL_MS);
    }
    this.#running.add(key);
    try {
      return await this.#amongReplicas(key, giveUpAt, edit);
    } finally {
      this.#running.delete(key);
    }
  }

  async #amongReplicas<T>(key: string, giveUpAt: number, edit: (confirm: Confirm) => Promise<T>): Promise<T> {
    if (!this.redis.configured) return edit(confirmed);
    let isBegun = false;
    const run = this.redis.run.bind(this.redis);
    const lease = { lifeMs: LEASE_MS, owner: this.#owner };
    const keep = () => keepLease(run, key, lease).catch(() => true);
    const confirm = async () => {
      if (!(await keep())) throw busy(LOST);
    };
    const begin = async () => {
      isBegun = true;
      const endRenewals = poll('lease of an edit', RENEW_MS, keep);
      try {
        return { value: await edit(confirm) };
      } finally {
        endRenewals();
      }
    };
    const done = await underLease(run, key, { ...lease, giveUpAt }, begin).catch(async (error: unknown) => {
      if (isBegun) throw error;
      return { value: await edit(confirmed) };
    });
    if (!done) throw busy(BUSY);
    return done.value;
  }
}

function busy(detail: string): ProblemException {
  return new ProblemException('dependency-unavailable', { detail, retryAfter: 1 });
}
