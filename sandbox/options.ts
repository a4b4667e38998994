/** Options of a sandbox at start. */
import type { Credentials } from './access/accounts.ts';
import { PLAIN_PROFILE, type Profile } from './profile.ts';

export interface SandboxOptions {
  /** The address on which the sandbox listens. Default `127.0.0.1`. */
  readonly host?: string;
  /** The port. Default 0: any free port. */
  readonly port?: number;
  readonly appKey: string;
  readonly appSecret: string;
  /** Further users of the password grant, who are employees of no enterprise. */
  readonly users?: readonly Credentials[];
  /**
   * Password of the seeded administrators and employees, and of those that operations create without one. Default: made up at start,
   * and returned in `RunningSandbox.seedPassword`.
   */
  readonly seedPassword?: string;
  /** Data that replaces the seed, in the form of `GET /__sandbox/state`. A reset restores it. */
  readonly state?: unknown;
  /** Further companies beside those of the seed. Default: none. */
  readonly companies?: Companies;
  /** Scopes that the application may ask for. Default `auth_order` and `auth_me`. */
  readonly scopes?: readonly string[];
  /** The lifetime of tokens. Default 3600. */
  readonly tokenLifetimeSeconds?: number;
  /** Prefix of every token, so that a test can recognise tokens. Default empty. */
  readonly tokenPrefix?: string;
  /** True if `/__sandbox` is served. Default true. */
  readonly controlEnabled?: boolean;
  /** Seed of the generator behind faults with a probability. Default: made up at start. */
  readonly seed?: number;
  /** The time until an `async` order takes effect, by the sandbox's clock. Default 2000. */
  readonly asyncOrderMs?: number;
  /** First digit of asset numbers (section 2.13). Default `8`. */
  readonly region?: '8' | '6';
  /** True if body fields that the interface does not have are refused (13004, in the member module 40000). Default true. */
  readonly strictFields?: boolean;
  /** Bounds of a password (member error 50003, whose numbers the interface does not show). Default 6 to 32. */
  readonly passwordLength?: { readonly min: number; readonly max: number };
  /**
   * The effect of a wrong field of one row in `addMembers`: `whole` (default) refuses the call with the field's code, `row` lists the row
   * under `failed` (60027). An account that is taken fails its row in both cases.
   */
  readonly rowFaults?: 'whole' | 'row';
  /**
   * The readings of the interface where it is silent. `PUT /__sandbox/profile` changes them while the sandbox runs, and a reset undoes
   * that.
   */
  readonly profile?: Partial<Profile>;
  /** Latest journal entries kept. Default 20,000. */
  readonly journalLimit?: number;
  /** Largest request body of an operation, in bytes. Default 16 MiB. */
  readonly maxBodyBytes?: number;
  /** Idle time after which a kept-alive connection is closed. Default 60,000. */
  readonly keepAliveTimeoutMs?: number;
  /** Serves TLS, and only clients that show a certificate of these authorities. Default: plain HTTP. */
  readonly tls?: TlsOptions;
  /**
   * Runs before the response of a control call that moved the clock, with the new lead over the machine's clock. The response waits for it.
   * Default: nothing.
   */
  readonly clockMoved?: (aheadMs: number) => Promise<void>;
  /** Receives one line per notable event; never a body, token or secret. Default: nothing is logged. */
  readonly log?: (line: string) => void;
}

/** How many companies, how many assets each of them has, and how many products are on each asset. */
export interface Companies {
  readonly enterprises: number;
  readonly assets: number;
  readonly products: number;
}

/** The texts are in PEM. */
export interface TlsOptions {
  readonly cert: string;
  readonly key: string;
  readonly clientCa: string;
}

/** Options with every default filled in. */
export interface Settings {
  readonly host: string;
  readonly port: number;
  readonly seedPassword: string;
  readonly scopes: readonly string[];
  readonly tokenLifetimeSeconds: number;
  readonly tokenPrefix: string;
  readonly controlEnabled: boolean;
  readonly seed: number;
  readonly asyncOrderMs: number;
  readonly region: '8' | '6';
  readonly strictFields: boolean;
  readonly passwordLength: { readonly min: number; readonly max: number };
  readonly rowFaults: 'whole' | 'row';
  /** The present profile. Its fields change while the sandbox runs. */
  readonly profile: Profile;
  /** The profile at the start. */
  readonly initialProfile: Readonly<Profile>;
  readonly journalLimit: number;
  readonly maxBodyBytes: number;
  readonly keepAliveTimeoutMs: number;
  readonly clockMoved: (aheadMs: number) => Promise<void>;
  readonly log: (line: string) => void;
}

/** Fills in the defaults. The caller makes up the seed and the seed password. */
export function settle(options: SandboxOptions, madeUp: { seed: number; seedPassword: string }): Settings {
  const profile: Profile = { ...PLAIN_PROFILE, ...options.profile };
  return {
    host: options.host ?? '127.0.0.1',
    port: options.port ?? 0,
    seedPassword: options.seedPassword ?? madeUp.seedPassword,
    scopes: options.scopes ?? ['auth_order', 'auth_me'],
    tokenLifetimeSeconds: options.tokenLifetimeSeconds ?? 3600,
    tokenPrefix: options.tokenPrefix ?? '',
    controlEnabled: options.controlEnabled ?? true,
    seed: options.seed ?? madeUp.seed,
    asyncOrderMs: options.asyncOrderMs ?? 2000,
    region: options.region ?? '8',
    strictFields: options.strictFields ?? true,
    passwordLength: options.passwordLength ?? { min: 6, max: 32 },
    rowFaults: options.rowFaults ?? 'whole',
    profile: { ...profile },
    initialProfile: profile,
    journalLimit: options.journalLimit ?? 20_000,
    maxBodyBytes: options.maxBodyBytes ?? 16 * 1024 * 1024,
    keepAliveTimeoutMs: options.keepAliveTimeoutMs ?? 60_000,
    clockMoved: options.clockMoved ?? (() => Promise.resolve()),
    log: options.log ?? (() => {}),
  };
}
