import { writeFileSync } from 'node:fs';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import { confirmStore } from '../support/confirm-store.ts';
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
    console: /1 webhook without deliveries/,
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
    name: 'the shared Redis dies',
    alert: 'RedisAway',
    breaks: ({ shared }) => shared.kill9(),
    log: ['redis-away', /ECONNREFUSED|connection/],
    console: /ECONN|connection/,
    remedy: 'restore the server; it may come back empty',
    mends: (site) => site.startShared(),
  },
  {
    name: 'the shared Redis has another password',
    alert: 'RedisAway',
    breaks: (site) => site.password(site.shared, another),
    log: ['redis-away', /WRONGPASS/],
    console: /WRONGPASS/,
    remedy: 'A refusal: section 2 has the rights',
    mends: (site) => site.password(site.shared),
  },
  {
    name: 'the shared Redis denies a command',
    alert: 'RedisAway',
    breaks: (site) => site.grant(site.shared, '-set'),
    log: ['redis-refuses', /\+set/],
    console: /\+set/,
    remedy: 'A refusal: section 2 has the rights',
    mends: (site) => site.grant(site.shared, '+set'),
  },
  {
    name: 'the order store dies',
    alert: 'OrderStoreAway',
    breaks: ({ orders }) => orders.kill9(),
    log: ['order-store-away', /orders are refused until it is back/],
    console: /away|connection|respond/,
    remedy: 'Start the server on its own volume',
    mends: (site) => site.startOrders(),
  },
  {
    name: 'the order store has another password',
    alert: 'OrderStoreAway',
    breaks: (site) => site.password(site.orders, another),
    log: ['redis-away', /"store":"orders".*WRONGPASS|WRONGPASS.*"store":"orders"/],
    console: /WRONGPASS/,
    remedy: 'A wrong password or certificate: correct the secret',
    mends: (site) => site.password(site.orders),
  },
  {
    name: 'the order store denies zadd',
    alert: 'OrderStoreRefuses',
    breaks: (site) => site.grant(site.orders, '-zadd'),
    log: ['order-store-stopped', /\+zadd/],
    console: /\+zadd/,
    remedy: '`rights`: section 2 has the lines',
    mends: (site) => site.grant(site.orders, '+zadd'),
  },
  {
    name: 'the order store is full',
    alert: 'OrderStoreRefuses',
    breaks: (site) => site.set(site.orders, 'maxmemory', '1'),
    log: ['order-store-stopped', /OOM/],
    console: /OOM/,
    remedy: '`writes`: free memory or disk (`OOM`',
    mends: (site) => site.set(site.orders, 'maxmemory', '0'),
  },
  {
    name: 'the order store is emptied',
    alert: 'OrderStoreUnconfirmed',
    breaks: (site) => site.emptyOrders(),
    log: ['order-store-stopped', /order-store-init/],
    console: /order-store-init/,
    remedy: 'Then `npm run order-store-init`',
    mends: (site) => confirmStore({ ...site.fleet.environment, ...site.environment }),
  },
  {
    name: 'an encryption key is replaced under its id',
    alert: 'GatewayDown',
    breaks: (site) => site.withKeys(newEncryptionKey()).catch((error: unknown) => site.said(String(error))),
    log: ['configuration: ', /ENCRYPTION_KEYS has another key under the id k1 .* put the old key back/],
    remedy: 'Correct the variable that the log names and start the replica',
    mends: (site) => site.withKeys(site.firstKeys),
  },
  {
    name: 'the encryption key of an order in doubt is missing',
    alert: 'GatewayDown',
    breaks: async (site) => {
      await site.orderInDoubt();
      // The gateway does not start without it.
      await site.withKeys(newEncryptionKey('k2')).catch((error: unknown) => site.said(String(error)));
    },
    log: ['configuration: ', /ENCRYPTION_KEYS lacks a key under which .* add it at the end/],
    remedy: 'Correct the variable that the log names and start the replica',
    mends: (site) => site.withKeys(`${site.environment['ENCRYPTION_KEYS']},${site.firstKeys}`),
  },
  {
    name: 'the encryption key of settled orders is missing',
    alert: 'OrderRecordsUnreadable',
    breaks: async (site) => {
      await site.withKeys(newEncryptionKey('k2'));
      await site.order('SO-night-0');
    },
    log: ['order-unreadable', /"reason":"sealed"/],
    console: /ENCRYPTION_KEYS/,
    remedy: 'Add the former key at the end of `ENCRYPTION_KEYS`',
    mends: (site) => site.withKeys(`${site.environment['ENCRYPTION_KEYS']},${site.firstKeys}`),
  },
];
