/**
 * The walls between the rooms, each with the mistake it prevents. A type import counts as an import, except where a rule
 * says otherwise.
 */

const CLIENTS = '(^|/)node_modules/(undici|openid-client|axios)/';
/** Where the public keys of callers' JWTs come from: nothing of the platform. */
const ISSUER = '^src/caller/issuer-keys\\.ts$';
/** Receivers of webhooks are not the platform: their addresses are the operator's list. */
const RECEIVERS = '^src/webhooks/delivery/receivers\\.ts$';

/**
 * The rooms of `src`, from the ground up: each imports only rooms of floors below its own. Types count. A folder of a room may have a floor of
 * its own: a feature's controllers stand above `operation`, and what lower rooms know of the feature below them.
 */
const FLOORS = [
  ['shared'],
  ['kit'],
  ['config', 'problem'],
  ['observability'],
  ['redis', 'transport'],
  ['database'],
  ['token', 'tasks'],
  ['maintenance/state', 'budgets/state', 'tenancy/state', 'events/log'],
  ['request'],
  ['upstream'],
  ['caller', 'validation', 'read-cache'],
  ['order-ledger'],
  ['tenancy'],
  ['operation'],
  ['maintenance', 'budgets'],
  ['caller/rights', 'upstream/gap-list', 'order', 'member', 'session'],
  ['reconciliation', 'jobs', 'estate'],
  ['events'],
  ['webhooks'],
  ['http'],
  ['health', 'documentation', 'console', 'conformance'],
];
const ROOMS = FLOORS.flat();
const ROOT = '^src/(main|app|app\\.module)\\.ts$';

/** The files of a room, without its folders that have a floor of their own. */
function inRoom(room) {
  const inner = ROOMS.filter((other) => other.startsWith(`${room}/`)).map((other) =>
    other.slice(room.length + 1),
  );
  return inner.length === 0 ? `^src/${room}/` : `^src/${room}/(?!(${inner.join('|')})/)`;
}

const floors = FLOORS.flatMap((rooms, floor) =>
  rooms.map((room) => ({
    name: `floor-of-${room.replace('/', '-')}`,
    comment:
      'A room imports rooms of floors below its own: two that import each other are one, cut in the wrong place.',
    severity: 'error',
    from: { path: inRoom(room), pathNot: '\\.spec\\.ts$' },
    to: {
      path: [
        ...FLOORS.slice(floor)
          .flat()
          .filter((other) => other !== room)
          .map(inRoom),
        ROOT,
      ],
    },
  })),
);

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...floors,
    {
      name: 'rooms-have-a-floor',
      comment: 'Beside main, app and app.module everything in src is in a room, and every room has a floor.',
      severity: 'error',
      from: { path: '^src/', pathNot: [...ROOMS.map(inRoom), ROOT] },
      to: {},
    },
    {
      name: 'tracing-sdk-apart',
      comment: "OpenTelemetry's SDK takes time to load: only the file that main loads on demand imports it.",
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/observability/tracing-sdk\\.ts$' },
      to: { path: '(^|/)node_modules/@opentelemetry/(?!api/)' },
    },
    {
      name: 'tracing-sdk-on-demand',
      comment: 'Only main loads the SDK, and only where a collector is set.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/main\\.ts$' },
      to: { path: '^src/observability/tracing-sdk\\.ts$' },
    },
    {
      name: 'areas-apart',
      comment: 'The order and the member area change for different reasons: neither imports the other.',
      severity: 'error',
      from: { path: '^src/(order|member)/' },
      to: { path: '^src/(order|member)/', pathNot: '^src/$1/' },
    },
    {
      name: 'reconciliation-is-a-leaf',
      comment:
        'Looking for orders in doubt reads the platform by itself, in the background: nothing that answers a caller depends on it. The console shows what it found.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(reconciliation/|console/|app\\.module\\.ts$)' },
      to: { path: '^src/reconciliation/' },
    },
    {
      name: 'reconciliation-borrows-no-area',
      comment: 'It reads by the wire what the areas show in their own words, and changes for other reasons.',
      severity: 'error',
      from: { path: '^src/reconciliation/' },
      to: { path: '^src/(order|member|caller)/|^src/transport/' },
    },
    {
      name: 'who-has-tasks',
      comment:
        'A task runs again when its process died: reading may be repeated, sending an order may not. Reconciliation and the estate read, jobs look up their rows, and webhooks may deliver twice. The order ledger adds the tasks of reconciliation and of scheduled orders: those begin in its own step, which begins each once.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot:
          '^src/(tasks|jobs|webhooks|reconciliation|estate)/|^src/order-ledger/(begin|move)-store\\.ts$|^src/order/scheduled-orders\\.ts$',
      },
      to: { path: '^src/tasks/' },
    },
    {
      name: 'jobs-place-no-order',
      comment: 'Members can be found by their account after a lost response; orders cannot.',
      severity: 'error',
      from: { path: '^src/jobs/' },
      to: { path: '^src/order/' },
    },
    {
      name: 'controllers-know-no-wire',
      comment:
        "A controller speaks the public vocabulary: the platform's types and connections end at the service.",
      severity: 'error',
      from: { path: '\\.controller\\.ts$' },
      to: { path: '^src/(upstream/wire|transport)/' },
    },
    {
      name: 'databases-in-one-room',
      comment:
        'Engines, connections and threads are settled once. A store knows statements, and nothing of engines.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/database/' },
      to: { path: '(^|/)node_modules/pg/|^(node:)?sqlite$|^node:sqlite$' },
    },
    {
      name: 'statements-in-stores',
      comment: 'SQL is written in the stores alone, each of which has the tables of one subject.',
      severity: 'error',
      from: { path: '^src/', pathNot: '^src/(database/|.*store\\.ts$)' },
      to: { path: '^src/database/sql\\.ts$' },
    },
    {
      name: 'platform-connections',
      comment:
        'Only the transport and the token endpoint open connections to the platform: redirects, proxies and limits are settled there.',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/(transport/|token/token\\.endpoint\\.ts$)', ISSUER, RECEIVERS] },
      to: { path: CLIENTS, dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'platform-clients',
      comment: 'Outside of the two rooms that call the platform, not even the types of its clients.',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/(upstream|transport|token)/', ISSUER, RECEIVERS] },
      to: { path: [CLIENTS, '(^|/)node_modules/@nestjs/axios/'] },
    },
    {
      name: 'jwts-at-the-door',
      comment:
        'Who calls is settled in one room. `createRemoteJWKSet` would fetch keys without the bounds that are set there.',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/caller/jwt-callers\\.ts$', ISSUER] },
      to: { path: '(^|/)node_modules/jose/' },
    },
    {
      name: 'no-sockets',
      comment:
        'A connection made with Node itself would go around the walls above; the management listener only listens, lists of hosts compare addresses, and files of certificates are tried.',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: [
          '^src/observability/management\\.listener\\.ts$|\\.spec\\.ts$',
          '^src/(config/(listed-hosts|certificate-files)|webhooks/delivery/destinations)\\.ts$',
        ],
      },
      to: { path: '^(node:)?(http|https|http2|net|tls)$', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'sandbox-apart',
      comment:
        'The gateway and the emulator of the platform share nothing but the questions that the interface leaves open: a misreading of it must not be made once and be right twice.',
      severity: 'error',
      from: { path: '^(src|sandbox)/' },
      to: {
        path: '^(src|sandbox)/',
        pathNot: ['^$1/', '^src/config/(reading|readings|taught-codes|token-readings)\\.ts$'],
      },
    },
    {
      name: 'client-apart',
      comment:
        'The client package is installed without the gateway: what it knows of it is in the OpenAPI document.',
      severity: 'error',
      from: { path: '^client/src/' },
      to: { path: '^(src|sandbox|sandbox-package|scripts|test|bench|dist)/' },
    },
    {
      name: 'client-runs-anywhere',
      comment:
        'The core of the client runs in browsers, Bun and Deno too: it has `fetch`, and neither Node nor packages.',
      severity: 'error',
      from: { path: '^client/src/', pathNot: '^client/src/(nestjs|testing|cli/)' },
      to: { path: '.', pathNot: '^client/src/' },
    },
    {
      name: 'sandbox-package-starts-both',
      comment:
        'The package has the built gateway as a process of its own: of its code it knows the names of scopes and the form of keys, and it has no dependencies. Scripts import it, and it imports none of them.',
      severity: 'error',
      from: { path: '^sandbox-package/src/' },
      to: {
        path: '.',
        pathNot: [
          '^sandbox(-package/src)?/',
          '^src/(request/scopes|caller/api-key)\\.ts$',
          '^(node:)?(child_process|crypto|events|fs|net|os|path|stream|url|util)$',
        ],
      },
    },
    {
      name: 'no-tests-in-the-product',
      comment: 'What runs imports neither specs nor what supports them, nor scripts, nor the build.',
      severity: 'error',
      from: { path: '^(src|sandbox)/', pathNot: '\\.spec\\.ts$' },
      to: { path: '\\.(spec|e2e|faults)\\.ts$|^(test|scripts|dist)/' },
    },
    {
      name: 'development-only',
      comment: 'What runs in production must be a dependency, not a development dependency.',
      severity: 'error',
      from: { path: '^src/', pathNot: '\\.spec\\.ts$' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'] },
    },
    {
      name: 'no-cycles',
      comment:
        'Injectables that import each other in a circle fail at load; types in a circle are one thing cut in two.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-orphans',
      comment: 'A file that nobody imports is dead or forgotten.',
      severity: 'error',
      from: {
        orphan: true,
        path: '^(src|sandbox|test)/',
        // The test of the bundle finds a file of page-parts that no page serves.
        pathNot:
          '\\.(spec|e2e|faults)\\.ts$|(^|/)(main|database/(init|sqlite-worker))\\.ts$|^src/operation/page-parts/',
      },
      to: {},
    },
    {
      name: 'no-barrels',
      comment: 'An index file that only passes on hides what depends on what, and makes cycles.',
      severity: 'error',
      from: { path: '(^|/)index\\.[cm]?[jt]s$', pathNot: '(^|/)node_modules/' },
      to: {},
    },
    {
      name: 'no-unresolvable',
      comment: 'An import that leads nowhere would also lead around these walls.',
      severity: 'error',
      // A page is served with files of src/operation/page-parts beside its own. The test of the page in a browser needs them.
      from: { pathNot: '^src/(documentation/api|console/console|estate/estate)-page/' },
      // They are there once the builds have run; the compiler and the tests look after that.
      to: { couldNotResolve: true, pathNot: ['^@licensing-gateway/client', '^\\./dist/main\\.js$'] },
    },
  ],
  options: {
    // They import what a test generates.
    exclude: { path: '^test/generators/clients/' },
    doNotFollow: { path: '(^|/)(node_modules|dist)/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
  },
};
