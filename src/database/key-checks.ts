import { createHmac } from 'node:crypto';
import { ConfigError } from '../config/config-error.ts';
import type { EncryptionKey } from '../kit/sealed-store/sealed-store.ts';
import type { Engine, Rows } from './engine.ts';
import { FOR_UPDATE, sql } from './sql.ts';

const KNOWN = sql`SELECT key_checks FROM identities WHERE platform = :platform`;
const LOCKED = sql`SELECT key_checks FROM identities WHERE platform = :platform ${FOR_UPDATE}`;
const KEEP = sql`UPDATE identities SET key_checks = :checks WHERE platform = :platform`;

/** Compares the encryption keys of the gateway with those that have sealed records of the database. */
export class KeyChecks {
  readonly #checks: ((lacked: readonly string[]) => Promise<void>)[] = [];
  #removed: readonly string[] | undefined;

  constructor(
    private readonly engine: Engine,
    private readonly keys: readonly EncryptionKey[],
  ) {}

  /**
   * The ids of the keys that an operator has removed: the database knew them when this gateway first read it, and the gateway does not have
   * them. A key that the database got to know later belongs to another gateway.
   */
  get removed(): readonly string[] {
    return this.#removed ?? [];
  }

  /**
   * Adds a check that runs once the database is ready. It gets the ids of the encryption keys that have sealed records and that the gateway
   * does not have. A {@link ConfigError} refuses the start. If the database was away then, it stops orders.
   */
  onLacked(check: (lacked: readonly string[]) => Promise<void>): void {
    this.#checks.push(check);
  }

  async check(): Promise<void> {
    const lacked = await lackedKeys(this.engine, this.keys);
    this.#removed ??= lacked;
    if (lacked.length > 0) for (const check of this.#checks) await check(lacked);
  }
}

/**
 * Keeps a check value of each encryption key that the database does not know yet. Returns the ids of the keys that the database knows and
 * the gateway lacks. Throws {@link ConfigError} if an id belongs to a different key now: the gateway could not read anything that the
 * former key has sealed.
 */
async function lackedKeys(engine: Engine, keys: readonly EncryptionKey[]): Promise<readonly string[]> {
  const own = Object.fromEntries(keys.map(({ kid, key }) => [kid, checkValue(key)]));
  const kids = Object.keys(own);
  let known = checksIn(await engine.read(KNOWN.with()));
  if (kids.some((kid) => !(kid in known)))
    await engine.transact([LOCKED.with()], ([found]) => {
      known = checksIn(found ?? []);
      return [KEEP.with({ checks: JSON.stringify({ ...own, ...known }) })];
    });
  const exchanged = kids.filter((kid) => known[kid] !== undefined && known[kid] !== own[kid]);
  if (exchanged.length > 0)
    throw new ConfigError([
      `ENCRYPTION_KEYS has another key under the id ${exchanged.join(' and ')} than the database knows: put the old key back, and give the new one another id`,
    ]);
  return Object.keys(known).filter((kid) => !(kid in own));
}

function checksIn([row]: Rows): Readonly<Record<string, string>> {
  const text = row?.['key_checks'];
  return typeof text === 'string' ? (JSON.parse(text) as Record<string, string>) : {};
}

/** Returns a value that differs for different keys and reveals nothing of them. */
function checkValue(key: EncryptionKey['key']): string {
  return createHmac('sha256', key).update('gateway database: check value').digest('base64url').slice(0, 22);
}
