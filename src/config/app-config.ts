import { readFileSync } from 'node:fs';
import type { EncryptionKey } from '../kit/sealed-store/sealed-store.ts';
import type { Certificates } from './certificate-files.ts';
import { ConfigError } from './config-error.ts';
import { contradictions } from './contradictions.ts';
import type { DatabaseAddress } from './database-url.ts';
import type { FollowedCertificates } from './followed-certificates.ts';
import type { ListedHost } from './listed-hosts.ts';
import { parseRedisUrl } from './redis-url.ts';
import { PlatformProfile, profileAtStart } from './platform-profile.ts';
import { RotatingSecret, type Secret } from './secret.ts';
import {
  authoritiesOfDatabase,
  listenerCertificates,
  redisCertificates,
  upstreamCertificates,
} from './tls-settings.ts';
import { percentDecoded } from './url-parts.ts';
import { type Values, type Variable, type VariableName, variables } from './variables.ts';

export class ListenConfig {
  host!: string;
  port!: number;
  /** Empty, or the path under which a proxy shows the gateway: `/licensing`. */
  publicPath!: string;
  managementHost!: string;
  managementPort!: number;
  /** The certificates of the public listener; undefined: it speaks plain HTTP. With `ca` it asks clients for certificates. */
  certificates!: FollowedCertificates | undefined;
  docs!: boolean;
}

/** How the licensing platform is reached. Times in milliseconds. */
export class UpstreamConfig {
  baseUrl!: URL;
  tokenUrl!: URL;
  tokenAuth!: 'basic' | 'body';
  appKey!: Secret;
  appSecret!: RotatingSecret;
  /** The path of the secret's file, if it was given as a file. The gateway re-reads the file when it changes. */
  appSecretFile!: string | undefined;
  /** The scopes that the gateway asks tokens for; undefined: it sends no scope. `user` belongs to the password grant. */
  scopes!: Readonly<Record<'order' | 'member' | 'user', string | undefined>>;
  timestampUnit!: 'ms' | 's';
  /** The path of the file with what `conformance` found out about the platform. The gateway re-reads the file when it changes. */
  profileFile!: string | undefined;
  profile!: PlatformProfile;
  deadlineMs!: number;
  orderDeadlineMs!: number;
  connectTimeoutMs!: number;
  /** The certificate that the gateway shows to the platform, and the authorities that it trusts there; undefined: no certificate, and those of Node. */
  certificates!: FollowedCertificates | undefined;
}

/** The shared store. Without `url` everything stays in this process. */
export class RedisConfig {
  url!: Secret | undefined;
  certificates!: Certificates;
  /** The base URL of the platform: the names of all keys begin with its hash. */
  platform!: URL;
  encryptionKeys!: readonly EncryptionKey[];
}

export class CallersConfig {
  file!: string;
}

/** The issuer whose JWTs are accepted and the audience that they must name. Undefined: no JWT is accepted. */
export class JwtConfig {
  trust!: { readonly issuer: string; readonly audience: string; readonly jwksUrl: URL } | undefined;
}

export class OrderConfig {
  /** The age in ms from which operators are shown an accepted order, and may settle it. */
  acceptedAlertMs!: number;
}

/** The database that keeps what must not be lost. */
export class DatabaseConfig {
  address!: DatabaseAddress;
  /** The certificates of PostgreSQL's authorities; undefined: those that Node trusts. */
  ca!: string | undefined;
  poolMax!: number;
  /** Whether the gateway (`auto`) or the operator (`manual`) makes an empty database ready. */
  init!: 'auto' | 'manual';
  /** The name of the platform in the key of every row. */
  platform!: string;
  /** The keys that seal all data that has no column of its own. Only a database in memory may lack them. */
  encryptionKeys!: readonly EncryptionKey[];
}

/** How long responses to reads are cached; 0 switches the cache off. */
export class CacheConfig {
  ttlMs!: number;
}

/** Users of the platform for the password grant. Undefined: there are none. */
export class UsersConfig {
  file!: string | undefined;
}

export interface TracingConfig {
  readonly enabled: boolean;
  readonly headers: Secret | undefined;
}

export class ImportConfig {
  maxBytes!: number;
  maxRows!: number;
}

/** How often the gateway reads each enterprise for its copy of the estate, in ms; undefined: it keeps no copy. */
export class EstateConfig {
  refreshMs!: number | undefined;
}

/** Where events may be sent; nowhere if no host is listed. */
export class WebhookConfig {
  hosts!: readonly ListedHost[];
  allowInsecure!: boolean;
}

/** The parts of the configuration that are injected, each under its class. */
export const slices = {
  listen: ListenConfig,
  upstream: UpstreamConfig,
  redis: RedisConfig,
  orders: OrderConfig,
  database: DatabaseConfig,
  callers: CallersConfig,
  jwt: JwtConfig,
  users: UsersConfig,
  cache: CacheConfig,
  estate: EstateConfig,
  imports: ImportConfig,
  webhooks: WebhookConfig,
} as const;
export type SliceName = keyof typeof slices;

export interface AppConfig extends Readonly<{ [Name in SliceName]: InstanceType<(typeof slices)[Name]> }> {
  readonly logLevel: Values['LOG_LEVEL'];
  readonly tracing: TracingConfig;
}

type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the environment once. Throws {@link ConfigError} with every fault found. */
export function loadConfig(environment: Environment): AppConfig {
  const faults: string[] = [];
  const values = {} as Record<VariableName, unknown>;
  for (const [name, variable] of Object.entries(variables) as [VariableName, Variable][]) {
    const raw = rawValue(name, variable, environment, faults);
    if (raw === undefined && !variable.schema.safeParse(undefined).success) {
      if (!faults.some((fault) => fault.startsWith(name)))
        faults.push(`${name} is required: ${variable.meaning}`);
      continue;
    }
    const result = variable.schema.safeParse(raw);
    if (result.success) values[name] = result.data;
    else faults.push(`${name} ${result.error.issues[0]?.message}`);
  }
  if (faults.length > 0) throw new ConfigError(faults);
  return assemble(values as Values, environment);
}

/** An empty variable counts as absent, which is what `NAME=` in an environment file means, unless the variable may be empty. */
function rawValue(
  name: string,
  variable: Variable,
  environment: Environment,
  faults: string[],
): string | undefined {
  const given = variable.secret ? environment[name]?.trim() : environment[name];
  const direct = variable.mayBeEmpty ? given : given || undefined;
  const path = variable.secret && environment[`${name}_FILE`];
  if (!path) return direct;
  if (direct !== undefined) {
    faults.push(`${name} and ${name}_FILE are both set: give one`);
    return undefined;
  }
  try {
    const content = readFileSync(path, 'utf8').trim();
    if (content !== '') return content;
    faults.push(`${name}_FILE must be the path of a file that is not empty`);
  } catch {
    faults.push(`${name}_FILE must be the path of a readable file`);
  }
  return undefined;
}

function assemble(values: Values, environment: Environment): AppConfig {
  const profile = profileAtStart(values.PLATFORM_PROFILE_FILE);
  const faults = contradictions(values, environment, profile.readings);
  const certificates = redisCertificates(values, faults);
  const ofListener = listenerCertificates(values, faults);
  const ofUpstream = upstreamCertificates(values, faults);
  const databaseAuthorities = authoritiesOfDatabase(values, faults);
  if (faults.length > 0) throw new ConfigError(faults);
  const production = values.NODE_ENV === 'production';
  const { JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWT_JWKS_URL: jwksUrl } = values;
  const { UPSTREAM_BASE_URL: platform, ENCRYPTION_KEYS: encryptionKeys = [] } = values;
  const server = { certificates, platform, encryptionKeys };
  return {
    logLevel: values.LOG_LEVEL,
    listen: {
      host: values.HOST,
      port: values.PORT,
      publicPath: values.PUBLIC_PATH,
      managementHost: values.MANAGEMENT_HOST,
      managementPort: values.MANAGEMENT_PORT,
      certificates: ofListener,
      docs: (values.DOCS ?? (production ? 'off' : 'on')) === 'on',
    },
    upstream: {
      baseUrl: values.UPSTREAM_BASE_URL,
      tokenUrl: values.UPSTREAM_TOKEN_URL,
      tokenAuth: values.UPSTREAM_TOKEN_AUTH,
      appKey: values.UPSTREAM_APP_KEY,
      appSecret: new RotatingSecret(values.UPSTREAM_APP_SECRET.reveal()),
      appSecretFile: environment['UPSTREAM_APP_SECRET_FILE'] || undefined,
      scopes: {
        order: values.UPSTREAM_ORDER_SCOPE || undefined,
        member: values.UPSTREAM_MEMBER_SCOPE || undefined,
        user: values.UPSTREAM_USER_SCOPE || undefined,
      },
      timestampUnit: profile.readings.timestampUnit ?? 'ms',
      profileFile: values.PLATFORM_PROFILE_FILE,
      profile: new PlatformProfile(profile),
      deadlineMs: values.UPSTREAM_DEADLINE_MS,
      orderDeadlineMs: values.UPSTREAM_ORDER_DEADLINE_MS,
      connectTimeoutMs: values.UPSTREAM_CONNECT_TIMEOUT_MS,
      certificates: ofUpstream,
    },
    redis: { ...server, url: values.REDIS_URL },
    orders: { acceptedAlertMs: values.ACCEPTED_ALERT_AFTER_MS },
    database: {
      address: values.DATABASE_URL,
      ca: databaseAuthorities,
      poolMax: values.DATABASE_POOL_MAX,
      init: values.DATABASE_INIT ?? (production ? 'manual' : 'auto'),
      platform: `${platform.host}${platform.pathname.replace(/\/$/, '')}`,
      encryptionKeys,
    },
    callers: { file: values.CALLERS_FILE },
    jwt: { trust: issuer && audience && jwksUrl ? { issuer, audience, jwksUrl } : undefined },
    users: { file: values.UPSTREAM_USERS_FILE },
    cache: { ttlMs: values.CACHE_TTL_MS },
    tracing: {
      enabled: values.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined,
      headers: values.OTEL_EXPORTER_OTLP_HEADERS,
    },
    estate: { refreshMs: values.ESTATE_REFRESH === 'off' ? undefined : values.ESTATE_REFRESH },
    imports: { maxBytes: values.IMPORT_MAX_BYTES, maxRows: values.IMPORT_MAX_ROWS },
    webhooks: { hosts: values.WEBHOOK_HOSTS ?? [], allowInsecure: values.ALLOW_INSECURE_WEBHOOKS },
  };
}

/** The values of `name=value,name=value`, which may be percent-encoded. */
function headerValues(text: string): string[] {
  return text.split(',').flatMap((header) => {
    const value = header.slice(header.indexOf('=') + 1).trim();
    const decoded = percentDecoded(value) ?? value;
    return value === '' ? [] : [value, decoded, decoded.replace(/^\w+ /, '')];
  });
}

/** Returns lists of all secrets. Those of the application's secret and of private keys change when these are replaced; the last list never does. */
export function secretsOf({ listen, upstream, redis, database, tracing }: AppConfig): (readonly string[])[] {
  const urls = [redis.url?.reveal() ?? []].flat();
  const lasting = [
    upstream.appKey.reveal(),
    ...urls,
    ...urls.flatMap((url) => {
      const { password = [], sentinelPassword = [] } = parseRedisUrl(url) ?? {};
      return [password, sentinelPassword].flat();
    }),
    ...[redis.certificates.key ?? []].flat(),
    ...(database.address.kind === 'postgres' ? [database.address.password?.reveal() ?? []].flat() : []),
    ...headerValues(tracing.headers?.reveal() ?? ''),
    ...redis.encryptionKeys.map((each) => each.key.export().toString('base64')),
  ];
  const keys = [listen, upstream].flatMap(({ certificates }) => (certificates ? [certificates.keys] : []));
  return [upstream.appSecret.candidates, ...keys, lasting];
}
