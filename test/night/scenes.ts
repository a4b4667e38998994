import { readFileSync, writeFileSync } from 'node:fs';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import type { Site } from './site.ts';

export interface Scene {
  readonly name: string;
  /** The alert that has to fire, whose section of the runbook is followed. */
  readonly alert: string;
  breaks(site: Site): Promise<unknown>;
  /** What the log has to say: the name of the line (or how a line of text begins), which the section has to name, and its words. */
  readonly log: readonly [event: string, words: RegExp];
  /** What the console has to say of the alert, where it can be opened. */
  readonly console?: RegExp;
  /** An alert that has to stay silent, since what it would tell is intended. */
  readonly silent?: string;
  /** What a span has to say, where a trace leads to the cause. */
  readonly span?: Readonly<Record<string, unknown>>;
  /** The words of the section that say what to do. */
  readonly remedy: string;
  mends(site: Site): Promise<unknown>;
}

const another = newSecret('s');

/** A night on call: each part breaks once, and the operator does what the runbook says. */
export const scenes: readonly Scene[] = [
  {
    name: 'the receiver of a webhook answers 500',
    alert: 'WebhookFailing',
    breaks: async (site) => (site.receiverSays = 500),
    log: ['webhook-failed', /"status":500/],
    console: /1 webhook is failing/,
    remedy: 'Tell the owner of the webhook',
    mends: async (site) => (site.receiverSays = 204),
  },
  {
    name: 'an operator has stopped the platform and forgotten it',
    alert: 'MaintenanceOn',
    silent: 'ServerErrors',
    breaks: ({ fleet }) =>
      fleet.request('PUT', 0, '/v1/maintenance', {
        ...{ stops: 'all', reason: 'the platform is updated' },
        until: new Date(Date.now() + 3_600_000).toISOString(),
      }),
    log: ['maintenance', /"stops":"all"/],
    console: /The platform is not called .* the platform is updated/,
    remedy: 'end it: in the console',
    mends: ({ fleet }) => fleet.request('DELETE', 0, '/v1/maintenance'),
  },
  {
    name: 'a caller has used its budget of orders',
    alert: 'BudgetNearlyUsed',
    breaks: (site) => site.budget(10),
    log: ['audit', /"operation":"placeOrder".*"status":403/],
    console: /A budget is (nearly )?used up: .* % of its orders/,
    remedy: 'raise `budgets` in the callers file',
    mends: (site) => site.budget(1_000_000),
  },
  {
    name: 'the platform answers 502',
    alert: 'CircuitOpen',
    breaks: ({ sandbox }) => sandbox.fault({ operation: 'listAssets', action: { httpStatus: 502 } }),
    log: ['request', /upstream-unavailable/],
    console: /circuit is open because calls failed/,
    span: { 'gateway.upstream.outcome': 'unavailable', 'http.response.status_code': 502 },
    remedy: "Tell the platform's operator",
    mends: ({ sandbox }) => sandbox.reset(),
  },
  {
    name: 'the token endpoint answers 503',
    alert: 'TokenEndpointFailing',
    breaks: async ({ sandbox }) => {
      await sandbox.fault({ operation: 'token', action: { httpStatus: 503 } });
      await sandbox.revokeTokens();
    },
    log: ['token-request-failed', /"reason":"server_error"/],
    console: /token endpoint \(UPSTREAM_TOKEN_URL\) does not serve app:.*: server_error/,
    remedy: "Tell the user center's operator",
    mends: ({ sandbox }) => sandbox.reset(),
  },
  {
    name: 'the platform has another secret of the application',
    alert: 'CredentialsRefused',
    breaks: async ({ sandbox }) => {
      await sandbox.acceptSecrets(another);
      await sandbox.revokeTokens();
    },
    log: ['token-request-failed', /invalid_client/],
    console: /token endpoint says invalid_client to app:.*: check UPSTREAM_APP_KEY and UPSTREAM_APP_SECRET/,
    remedy: 'put it into the file of `UPSTREAM_APP_SECRET_FILE`',
    mends: async ({ secretFile }) => writeFileSync(secretFile, another),
  },
  {
    name: 'Redis dies',
    alert: 'RedisAway',
    breaks: ({ redis }) => redis.kill9(),
    log: ['redis-away', /ECONNREFUSED|connection/],
    console: /ECONN|connection/,
    remedy: 'restore the server; it may come back empty',
    mends: (site) => site.startRedis(),
  },
  {
    name: 'Redis has another password',
    alert: 'RedisAway',
    breaks: (site) => site.password(another),
    log: ['redis-away', /WRONGPASS/],
    console: /WRONGPASS/,
    remedy: 'A refusal: give it [the rights](#what-does-redis-need)',
    mends: (site) => site.password(),
  },
  {
    name: 'Redis denies a command',
    alert: 'RedisAway',
    breaks: (site) => site.grant('-set'),
    log: ['redis-refuses', /\+set/],
    console: /\+set/,
    remedy: 'A refusal: give it [the rights](#what-does-redis-need)',
    mends: (site) => site.grant('+set'),
  },
  {
    name: 'the database dies',
    alert: 'DatabaseAway',
    breaks: ({ postgres }) => postgres.kill(),
    log: ['database-away', /DATABASE_URL does not answer/],
    console: /DATABASE_URL does not answer/,
    remedy: 'Start the server with its previous data',
    mends: ({ postgres }) => postgres.start(),
  },
  {
    name: 'the database has another password',
    alert: 'DatabaseAway',
    breaks: (site) => site.databasePassword(another),
    log: ['database-away', /does not accept the password/],
    console: /does not accept the password/,
    remedy: 'A wrong password or certificate: correct the secret',
    mends: (site) => site.databasePassword(),
  },
  {
    name: 'the database only reads',
    alert: 'DatabaseUnfit',
    breaks: (site) => site.readOnly('on'),
    log: ['database-stopped', /only reads/],
    console: /only reads/,
    remedy: 'name the server that takes writes',
    mends: (site) => site.readOnly('off'),
  },
  {
    name: 'the role of the database loses a right',
    alert: 'DatabaseUnfit',
    breaks: (site) => site.administer('REVOKE UPDATE ON ALL TABLES IN SCHEMA ROLE FROM ROLE'),
    log: ['database-stopped', /lacks a right: permission denied for table/],
    console: /lacks a right: permission denied for table/,
    remedy: 'grant the right that it names',
    mends: (site) => site.administer('GRANT UPDATE ON ALL TABLES IN SCHEMA ROLE TO ROLE'),
  },
  {
    name: 'the database goes back',
    alert: 'DatabaseLost',
    breaks: (site) => site.administer('UPDATE ROLE.numbers SET value = value - 1'),
    log: ['database-stopped', /has lost commits|went back/],
    console: /database-init/,
    remedy: 'run `npm run database-init`',
    mends: (site) => site.confirm(),
  },
  {
    name: 'the database is emptied',
    alert: 'DatabaseLost',
    breaks: (site) => site.administer('DROP SCHEMA ROLE CASCADE; CREATE SCHEMA AUTHORIZATION ROLE'),
    log: ['database-stopped', /was emptied/],
    console: /database-init/,
    remedy: 'run `npm run database-init`',
    mends: (site) => site.confirm(),
  },
  {
    name: 'the database has a standby for which no commit waits',
    alert: 'DatabaseWeak',
    breaks: (site) => site.follow(),
    log: ['database-weak', /not synchronous/],
    console: /not synchronous/,
    remedy: 'Name a standby in `synchronous_standby_names`',
    mends: (site) => site.unfollow(),
  },
  {
    name: 'the address of the database is misspelt',
    alert: 'GatewayDown',
    breaks: (site) => site.withVariables({ DATABASE_URL: `${site.databaseUrl}?sslmode=prefer` }),
    log: ['configuration: ', /DATABASE_URL must have/],
    remedy: 'Correct the variable that the log names and start the replica',
    mends: (site) => site.withVariables({ DATABASE_URL: site.databaseUrl }),
  },
  {
    name: 'the encryption key of settled orders is missing',
    alert: 'OrderRecordsUnreadable',
    breaks: async (site) => {
      await site.withVariables({ ENCRYPTION_KEYS: newEncryptionKey('k2') });
      await site.order('SO-night-0');
    },
    log: ['order-unreadable', /"reason":"sealed"/],
    console: /ENCRYPTION_KEYS/,
    remedy: 'Add the former key at the end of `ENCRYPTION_KEYS`',
    mends: (site) =>
      site.withVariables({ ENCRYPTION_KEYS: `${site.environment['ENCRYPTION_KEYS']},${site.firstKeys}` }),
  },
];

/** The section of the alert in the runbook. */
export function sectionOf(alert: string): string {
  const runbook = readFileSync('docs/operating.md', 'utf8');
  const [, section = ''] = new RegExp(`\\n### ${alert}\\n([\\s\\S]*?)\\n##`).exec(runbook) ?? [];
  return section.replaceAll(/\n +/g, ' ');
}
