import type * as z from 'zod';
import { DATABASE_URL_FORMS } from './database-url.ts';
import { REDIS_URL_FORMS } from './redis-url.ts';
import {
  databaseUrl,
  encryptionKeys,
  flag,
  httpUrl,
  integer,
  listedHosts,
  milliseconds,
  oneOf,
  port,
  redisUrl,
  refreshTime,
  scope,
  secret,
  text,
  word,
} from './schemas.ts';

/**
 * The one schema of the environment: rule, default and meaning of each variable. The typed configuration, the example file and the
 * start-up errors are made from it, in the order in which an operator needs them.
 */

/** The public path must not begin like one of the gateway's own paths, because the gateway removes it from the paths of requests. */
const PUBLIC_PATH = /^(?!\/(?:v1|docs|estate|problems|health)(?:\/|$))(?:\/(?!\.\.?(?:\/|$))[\w.~-]+)+$/;

export interface Variable {
  readonly schema: z.ZodType;
  readonly meaning: string;
  /** The value in the example file. Absent: the variable stays commented out and empty. */
  readonly example?: string;
  /** May also be given as `<NAME>_FILE`, a path. */
  readonly secret?: true;
  /** The file of this variable is read again when it changes. All other files are read at the start only. */
  readonly reread?: true;
  /** An empty value has a meaning of its own, and is not the same as absent. */
  readonly mayBeEmpty?: true;
}

export const variables = {
  UPSTREAM_BASE_URL: {
    schema: httpUrl(),
    meaning: '{base_url} of the licensing platform; https, unless it is a loopback address',
    example: 'https://licensing.example.com',
  },
  UPSTREAM_TOKEN_URL: {
    schema: httpUrl({ query: true }),
    meaning: "OAuth 2.0 token endpoint (RFC 6749) of the platform's user center",
    example: 'https://usercenter.example.com/oauth/token',
  },
  UPSTREAM_APP_KEY: { schema: secret, meaning: "the application's key", example: '', secret: true },
  UPSTREAM_APP_SECRET: {
    reread: true,
    schema: secret,
    meaning: "the application's secret; given as a file, it is re-read when the file changes",
    example: '',
    secret: true,
  },
  CALLERS_FILE: {
    reread: true,
    schema: word,
    meaning:
      'JSON file of the callers and their rights (config/callers.example.json); re-read when it changes',
    example: 'config/callers.json',
  },
  NODE_ENV: {
    schema: oneOf('production', 'development', 'test').default('development'),
    meaning:
      '`production` (requires DATABASE_URL, turns the documentation pages off by default), `development` or `test`; any other word stops the start',
  },
  REDIS_URL: {
    schema: redisUrl.optional(),
    meaning:
      'Redis for tokens, sessions, the read cache and rate limits; empty: they stay in the process, for a single process only (refused in production with a PostgreSQL). ' +
      `Forms: ${REDIS_URL_FORMS}. Name more than one host for Sentinel and cluster. Certificates are always checked; ` +
      'name a private authority in NODE_EXTRA_CA_CERTS',
    secret: true,
  },
  DATABASE_URL: {
    schema: databaseUrl.default({ kind: 'memory' }),
    meaning: `where orders, imports, webhooks and events are kept; required in production, where sqlite::memory: is refused. Forms: ${DATABASE_URL_FORMS}`,
    secret: true,
  },
  DATABASE_CA_FILE: {
    schema: text.min(1).optional(),
    meaning:
      "PEM file of the authorities that may have signed PostgreSQL's certificate, instead of those that Node trusts; read at start",
  },
  DATABASE_POOL_MAX: {
    schema: integer(3, 100).default(4),
    meaning: 'connections of one process to PostgreSQL; two of them write, the others read',
  },
  DATABASE_INIT: {
    schema: oneOf('auto', 'manual').optional(),
    meaning:
      '`auto`: an empty database is made ready at start; `manual`: the operator runs `npm run database-init`, and until then orders get 503; default auto, in production manual',
  },
  ENCRYPTION_KEYS: {
    schema: encryptionKeys.optional(),
    meaning:
      'kid:base64(32 bytes), comma separated; the gateway encrypts with the first key and decrypts with all of them; required with REDIS_URL, and with a DATABASE_URL other than sqlite::memory:',
    secret: true,
  },
  UPSTREAM_USERS_FILE: {
    reread: true,
    schema: word.optional(),
    meaning:
      'JSON file {"<alias>": {"username": "…", "password": "…", "enterprises": ["…"]}}: users of the platform that callers may act as. `enterprises` says for which of them the gateway uses the user when it reads by itself; it may be left out: all. Re-read when it changes',
  },
  HOST: { schema: word.default('127.0.0.1'), meaning: 'address of the public listener' },
  PORT: { schema: port(3000), meaning: 'port of the public listener' },
  PUBLIC_PATH: {
    schema: text
      .regex(PUBLIC_PATH, {
        error:
          'must be a path such as /licensing, without a slash at its end, and not begin with /v1, /docs, /estate, /problems or /health',
      })
      .default(''),
    meaning:
      'the path under which a proxy shows the gateway, such as `/licensing`; `Link`, `Location`, the pages and the OpenAPI document then name it. The proxy may take it off or leave it',
  },
  TLS_CERT_FILE: {
    reread: true,
    schema: word.optional(),
    meaning:
      'PEM file of the certificate of the public listener, with those between it and its authority; with TLS_KEY_FILE: the listener speaks TLS. This file and the next two are re-read when they change',
  },
  TLS_KEY_FILE: {
    reread: true,
    schema: word.optional(),
    meaning: 'PEM file of the private key of that certificate, without a passphrase',
  },
  TLS_CLIENT_CA_FILE: {
    reread: true,
    schema: word.optional(),
    meaning:
      "PEM file of the authorities of callers' certificates: the listener asks clients for a certificate, and one that the callers file names is a credential",
  },
  MANAGEMENT_HOST: {
    schema: word.default('127.0.0.1'),
    meaning: 'address of the management listener, which serves /metrics and /console without a key',
  },
  MANAGEMENT_PORT: { schema: port(9464), meaning: 'port of the management listener' },
  JWT_ISSUER: {
    schema: word.optional(),
    meaning:
      'exact `iss` of the JWTs that are accepted; set all three JWT_ variables, or none to accept no JWT',
  },
  JWT_AUDIENCE: { schema: word.optional(), meaning: 'audience that the `aud` of a JWT must name' },
  JWT_JWKS_URL: {
    schema: httpUrl({ query: true }).optional(),
    meaning: "URL of the issuer's public keys (RFC 7517); https, unless it is a loopback address",
  },
  REDIS_TLS_CA_FILE: {
    schema: word.optional(),
    meaning:
      "PEM file of the authorities that may have signed Redis' certificate, instead of those that Node trusts; for rediss forms of REDIS_URL. This file and the next two are read at start",
  },
  REDIS_TLS_CERT_FILE: {
    schema: word.optional(),
    meaning:
      'PEM file of the certificate that the gateway shows to Redis, and to its sentinels; with REDIS_TLS_KEY_FILE',
  },
  REDIS_TLS_KEY_FILE: {
    schema: word.optional(),
    meaning: 'PEM file of the private key of that certificate, without a passphrase',
  },
  LOG_LEVEL: {
    schema: oneOf('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent').default('info'),
    meaning:
      'lowest level of the JSON lines on standard output; the `audit` lines are written whatever it is, unless it is `silent`',
  },
  DOCS: {
    schema: oneOf('on', 'off').optional(),
    meaning:
      '`on` serves /docs, /openapi.json, /openapi-3.0.json and /postman-collection.json; default on, in production off',
  },
  OTEL_EXPORTER_OTLP_ENDPOINT: {
    schema: httpUrl().optional(),
    meaning:
      'base URL of an OpenTelemetry collector; the gateway then exports spans, and the other OTEL_ variables of OpenTelemetry apply (OTEL_TRACES_SAMPLER=parentbased_traceidratio, OTEL_TRACES_SAMPLER_ARG=0.01, OTEL_SERVICE_NAME, …)',
  },
  OTEL_EXPORTER_OTLP_HEADERS: {
    schema: secret.optional(),
    meaning: 'headers for the collector, `name=value`, comma separated; values are masked in the log',
    secret: true,
  },
  UPSTREAM_TLS_CA_FILE: {
    reread: true,
    schema: word.optional(),
    meaning:
      "PEM file of the authorities that may have signed the platform's certificates, instead of those that Node trusts; for API and token endpoint. This file and the next two are re-read when they change",
  },
  UPSTREAM_TLS_CERT_FILE: {
    reread: true,
    schema: word.optional(),
    meaning: 'PEM file of the certificate that the gateway shows to the platform; with UPSTREAM_TLS_KEY_FILE',
  },
  UPSTREAM_TLS_KEY_FILE: {
    reread: true,
    schema: word.optional(),
    meaning: 'PEM file of the private key of that certificate, without a passphrase',
  },
  UPSTREAM_TOKEN_AUTH: {
    schema: oneOf('basic', 'body').default('basic'),
    meaning: 'how the gateway sends key and secret to the token endpoint: `basic` (header) or `body`',
  },
  UPSTREAM_ORDER_SCOPE: {
    schema: scope.default('auth_order'),
    meaning:
      'scope of the application token for the order module; set and empty: no scope is sent. If this one and the next are empty, one token serves both modules',
    mayBeEmpty: true,
  },
  UPSTREAM_MEMBER_SCOPE: {
    schema: scope.default('auth_me'),
    meaning: 'scope of the application token for the member center; set and empty: no scope is sent',
    mayBeEmpty: true,
  },
  UPSTREAM_USER_SCOPE: {
    schema: scope.default(''),
    meaning: "scope of the platform users' tokens (password grant); empty: no scope is sent",
  },
  PLATFORM_PROFILE_FILE: {
    reread: true,
    schema: word.optional(),
    meaning:
      'JSON file in which `npm run conformance` has written how the platform behaves where its interface is silent; re-read when it changes. Without it the gateway takes the cautious reading of each',
  },
  ALLOW_INSECURE_UPSTREAM: {
    schema: flag.default(false),
    meaning: "`true` allows plain http in the platform's two URLs also for addresses other than loopback",
  },
  UPSTREAM_DEADLINE_MS: {
    schema: milliseconds(10_000),
    meaning: 'total time of a call to the platform, including all attempts and waits for tokens',
  },
  UPSTREAM_ORDER_DEADLINE_MS: { schema: milliseconds(30_000), meaning: 'the same for placing an order' },
  UPSTREAM_CONNECT_TIMEOUT_MS: {
    schema: milliseconds(1_000),
    meaning: 'time to open one connection to the platform',
  },
  CACHE_TTL_MS: {
    schema: integer(0, 600_000).default(5_000),
    meaning:
      'lifetime of cached responses to reads, ±10 %; 0: no read cache; use the same value on every replica',
  },
  ACCEPTED_ALERT_AFTER_MS: {
    schema: integer(1, 604_800_000).default(86_400_000),
    meaning:
      'an order that the platform accepted for later (`syncMode` async) longer ago than this is shown to operators, who may settle it; the alert OrdersAccepted counts a day',
  },
  ESTATE_REFRESH: {
    schema: refreshTime.default('off'),
    meaning:
      'how often the gateway reads what each enterprise has, for `listEstate`: `6h`, `30m`, at least `10m`; it makes at most two calls a second for that, all replicas together. `off`: it keeps no copy',
  },
  IMPORT_MAX_BYTES: {
    schema: integer(1_024, 268_435_456).default(16 * 1024 * 1024),
    meaning: 'largest file of an import of members, in bytes',
  },
  IMPORT_MAX_ROWS: {
    schema: integer(1, 1_000_000).default(50_000),
    meaning: 'most rows of an import of members',
  },
  WEBHOOK_HOSTS: {
    schema: listedHosts.optional(),
    meaning:
      'where webhooks may be sent, with commas: host names, ends of host names (`.svc.example`), addresses or CIDR ranges, each with `:port` or for any port. A name that leads to a private address needs its range here too. Name a private authority of receivers in NODE_EXTRA_CA_CERTS. Empty: webhooks are off',
  },
  ALLOW_INSECURE_WEBHOOKS: {
    schema: flag.default(false),
    meaning: '`true` allows plain http for webhooks also to addresses other than loopback',
  },
} as const satisfies Record<string, Variable>;

export type VariableName = keyof typeof variables;
export type Values = { [K in VariableName]: z.output<(typeof variables)[K]['schema']> };
