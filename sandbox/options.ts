/** Options of a sandbox at start. */
import type { Credentials } from './access/accounts.ts';

/** Choices where the interface is silent that a test may want to change. A reset goes back to those of the start. */
export interface Profile {
  /** Largest page of `listMembers`; the interface gives none. Default 1000. */
  maxPageSize: number;
  /** What becomes of a `pageSize` beyond it: `refuse` (default, 40000), or `cut`: the page and its numbers are those of the largest page. */
  largerPages: 'refuse' | 'cut';
  /**
   * What may be bought: `catalogue` (default), the products of the seed and those that the state has; another one is refused with 13004. Or
   * `any` name.
   */
  products: 'catalogue' | 'any';
}

export interface SandboxOptions {
  /** Default `127.0.0.1`. */
  readonly host?: string;
  /** Default 0: any free port. */
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
  /** Data in place of the seed, in the form of `GET /__sandbox/state`. A reset goes back to it. */
  readonly state?: unknown;
  /** Scopes that the application may ask for. Default `auth_order` and `auth_me`. */
  readonly scopes?: readonly string[];
  /** Default 3600. */
  readonly tokenLifetimeSeconds?: number;
  /** Prefix of every token, so that a test can recognise tokens. Default empty. */
  readonly tokenPrefix?: string;
  /** Whether a password grant gives a refresh token. Default true. */
  readonly refreshTokens?: boolean;
  /** Whether `/__sandbox` is served. Default true. */
  readonly controlEnabled?: boolean;
  /** Seed of the generator behind faults with a probability. Default: made up at start. */
  readonly seed?: number;
  /** Unit of the long timestamps on the wire, which the interface does not give (section 2.14). Default `ms`. */
  readonly timestampUnit?: 'ms' | 's';
  /** How long an `async` order takes until it has effect, by the sandbox's clock. Default 2000. */
  readonly asyncOrderMs?: number;
  /** Default 1000. */
  readonly maxOrdersPerBatch?: number;
  /** Asset numbers per `obtainAssetNums` call. Default 1000. */
  readonly maxAssetNums?: number;
  /** Lock numbers per `disableLocks` or `enableLocks` call. Default 1000. */
  readonly maxLocksPerCall?: number;
  /** First digit of asset numbers (section 2.13). Default `8`. */
  readonly region?: '8' | '6';
  /** Whether body fields that the interface does not have are refused (13004, in the member module 40000). Default true. */
  readonly strictFields?: boolean;
  /** Bounds of a password (member error 50003, whose numbers the interface does not show). Default 6 to 32. */
  readonly passwordLength?: { readonly min: number; readonly max: number };
  /**
   * What a wrong field of one row does to `addMembers`: `whole` (default) refuses the call with the field's code, `row` lists the row
   * under `failed` (60027). An account that is taken fails its row in both cases.
   */
  readonly rowFaults?: 'whole' | 'row';
  /** Readings of the interface that `PUT /__sandbox/profile` changes while the sandbox runs. */
  readonly profile?: Partial<Profile>;
  /** How an employee's ids travel; sections 2.9 and 2.10 show numbers, section 2.1 speaks of strings. Default `number`. */
  readonly memberIdsAs?: 'number' | 'string';
  /** Whether ids that the interface documents as strings travel as bare numbers where they are all digits (section 2.1). Default false. */
  readonly numericIds?: boolean;
  /** How refusals travel. Default HTTP 299 and the code as a string, as sections 2.1 and 4.1 have it. */
  readonly refusals?: { readonly status?: 299 | 200; readonly codeAs?: 'string' | 'integer' };
  /** Latest journal entries kept. Default 20,000. */
  readonly journalLimit?: number;
  /** Largest request body of an operation, in bytes. Default 16 MiB. */
  readonly maxBodyBytes?: number;
  /** Idle time after which a kept-alive connection is closed. Default 60,000. */
  readonly keepAliveTimeoutMs?: number;
  /** Receives one line per notable event; never a body, token or secret. Default: nothing is logged. */
  readonly log?: (line: string) => void;
}

/** Options with every default filled in. */
export interface Settings {
  readonly host: string;
  readonly port: number;
  readonly seedPassword: string;
  readonly scopes: readonly string[];
  readonly tokenLifetimeSeconds: number;
  readonly tokenPrefix: string;
  readonly refreshTokens: boolean;
  readonly controlEnabled: boolean;
  readonly seed: number;
  readonly timestampUnit: 'ms' | 's';
  readonly asyncOrderMs: number;
  readonly maxOrdersPerBatch: number;
  readonly maxAssetNums: number;
  readonly maxLocksPerCall: number;
  readonly region: '8' | '6';
  readonly strictFields: boolean;
  readonly passwordLength: { readonly min: number; readonly max: number };
  readonly rowFaults: 'whole' | 'row';
  readonly profile: Profile;
  /** Those of the start. */
  readonly initialProfile: Readonly<Profile>;
  readonly memberIdsAs: 'number' | 'string';
  readonly numericIds: boolean;
  readonly refusalStatus: 299 | 200;
  readonly refusalCodeAs: 'string' | 'integer';
  readonly journalLimit: number;
  readonly maxBodyBytes: number;
  readonly keepAliveTimeoutMs: number;
  readonly log: (line: string) => void;
}

/** Fills in the defaults; the caller makes up the seed and the seed password. */
export function settle(options: SandboxOptions, madeUp: { seed: number; seedPassword: string }): Settings {
  const profile: Profile = {
    maxPageSize: 1000,
    largerPages: 'refuse',
    products: 'catalogue',
    ...options.profile,
  };
  return {
    host: options.host ?? '127.0.0.1',
    port: options.port ?? 0,
    seedPassword: options.seedPassword ?? madeUp.seedPassword,
    scopes: options.scopes ?? ['auth_order', 'auth_me'],
    tokenLifetimeSeconds: options.tokenLifetimeSeconds ?? 3600,
    tokenPrefix: options.tokenPrefix ?? '',
    refreshTokens: options.refreshTokens ?? true,
    controlEnabled: options.controlEnabled ?? true,
    seed: options.seed ?? madeUp.seed,
    timestampUnit: options.timestampUnit ?? 'ms',
    asyncOrderMs: options.asyncOrderMs ?? 2000,
    maxOrdersPerBatch: options.maxOrdersPerBatch ?? 1000,
    maxAssetNums: options.maxAssetNums ?? 1000,
    maxLocksPerCall: options.maxLocksPerCall ?? 1000,
    region: options.region ?? '8',
    strictFields: options.strictFields ?? true,
    passwordLength: options.passwordLength ?? { min: 6, max: 32 },
    rowFaults: options.rowFaults ?? 'whole',
    profile: { ...profile },
    initialProfile: profile,
    memberIdsAs: options.memberIdsAs ?? 'number',
    numericIds: options.numericIds ?? false,
    refusalStatus: options.refusals?.status ?? 299,
    refusalCodeAs: options.refusals?.codeAs ?? 'string',
    journalLimit: options.journalLimit ?? 20_000,
    maxBodyBytes: options.maxBodyBytes ?? 16 * 1024 * 1024,
    keepAliveTimeoutMs: options.keepAliveTimeoutMs ?? 60_000,
    log: options.log ?? (() => {}),
  };
}
