/**
 * What can go wrong around the gateway, and what must hold then. The title of a row's test (or of its describe block) begins with the
 * row's id; fault-table.reporter.ts compares the tests with this list, and docs/faults.md is made from it.
 */

interface Row {
  readonly id: string;
  /** The injected fault. */
  readonly fault: string;
  /** What must be true then. */
  readonly holds: string;
}
/** Why no test has its id. */
interface AbsentRow extends Row {
  readonly notHere: string;
}
export type CatalogueRow = Row | AbsentRow;

export interface CatalogueSection {
  readonly title: string;
  /** The headings of the two columns, if not `fault` and `what must hold`. */
  readonly heads?: readonly [string, string];
  readonly rows: readonly CatalogueRow[];
  /** Text below the table. */
  readonly after?: string;
}

/** Why a scene is not in the short form. */
const longScene = (scene: string) => `it is in the long form: \`npm run topology -- --scene '${scene}'\``;

const TOPOLOGIES = `### Topologies: figures

\`npm run topology\` plays each scene against real servers with TLS and users: a master with two replicas and three sentinels, a cluster of three masters with a replica each, one server. Three
gateways get orders meanwhile, each order at two of them at once. Seconds, with 15 orders before and after the event (\`npm run topology -- --rounds 1 --orders 15\`), on two cores;
two values are of two runs. A server without a response for 3 s counts as gone; sentinels that cannot agree try again, which takes 10 s more. Down is the longest time without a break. In all of them no order was placed twice, no response was false, and each order could be found.

| event | Sentinel: first order after | \`ready\` down for | cluster: first order after | \`ready\` down for |
| --- | --- | --- | --- | --- |
| kill -9 of the master | 4.3 and 4.6 | 4.4 and 4.8 | 5.1 and 5.6 | 5.1 and 5.8 |
| an operator switches the masters | 0.1 | | 0.2 and 0.6 | |
| the master and a gateway are cut off | 5.4 and 5.6, and none on the side that is cut off | | 7.0 and 6.7, and none on the side that is cut off | |
| a replica and a sentinel are cut off with them | 18.9 and 22.3 on the side that is cut off, and none outside, where one server is left; after the repair none anywhere until guard-init | until guard-init | | |
| kill -9 of every server, and a start | 1.4 and 1.5 | 1.4 and 1.3 | 2.3 | 2.7 |
| the replicas get no more writes | none, until they do | as long | | |

With a setting of the master with which no order is safe, \`ready\` says down at every gateway after at most 0.6 s.

\`npm run chaos\` kills gateways and the store under orders, and its acts can be played by name (\`npm run chaos -- --act split-brain\`). A variant leaves a safeguard out,
which shows what the safeguard is worth (\`--variant\`):

| act | orders | placed twice | with the variant | placed twice |
| --- | --- | --- | --- | --- |
| \`split-brain\`: a replica is promoted while the old master goes on, and both get the same orders | 20 | 0 | \`wait-left-out\`: no acknowledgement of replicas | 20 |
| \`gone-back\`: the store comes back with the data of an earlier time | 20 | 0 | \`count-not-compared\`: writes are not counted | 10, all that were lost |`;

const IMPORT_CHAOS = `\`npm run chaos:imports\` kills three gateways and Redis under imports (with an even \`--seed\` the platform refuses whole calls for single rows, so that many more are sent and it takes some minutes), and \`npm run chaos:imports -- --variants\` leaves one safeguard out after the other, each of which must be found:

| act | the variant that it finds | what the variant does |
| --- | --- | --- |
| \`killed-before-the-record\`: all processes are killed when the platform has carried a call out | \`no-record-before-sending\` | members who were added count as failed |
| \`lost-responses\`: the platform carries calls out and breaks the responses off | \`no-lookup-after-a-lost-response\` | members who were added count as failed |
| \`passwords\`: one of two calls has its response | \`passwords-kept\` | the password of an added member waits on |
| \`second-import\`: several imports of an enterprise at the same moment, by all processes | \`two-imports-at-once\` | two jobs of an enterprise run |
| \`bounded-deletes\`: more members are missing than may be deleted, when the file arrives or only later | \`plan-not-bounded\`, \`plan-bounded-only-when-the-file-arrives\` | members are deleted |`;

export const sections: readonly CatalogueSection[] = [
  {
    title: 'Upstream transport',
    rows: [
      {
        id: 'U1',
        fault: 'connection refused',
        holds:
          'a read is tried once more, then 503 upstream-unavailable; a write is 503 not_processed and may be repeated; nothing reaches the platform',
      },
      {
        id: 'U2',
        fault: 'the name does not resolve',
        holds: 'as for a refused connection, and the gateway does not remember the failure',
      },
      {
        id: 'U3',
        fault: 'connection attempts swallowed',
        holds:
          'ends after the connect timeout, one for all addresses of the host: a read 504, a write 503 not_processed',
      },
      {
        id: 'U4',
        fault:
          'TLS: no handshake, or a certificate that is expired, for another name or of an unknown authority',
        holds:
          '503 not_processed without another attempt; no request leaves, nothing falls back to plain text',
      },
      {
        id: 'U5',
        fault: 'connection accepted, then reset before the request is read',
        holds: 'a read is tried once more; a write is 502 with an unknown outcome, sent once',
      },
      {
        id: 'U6',
        fault: 'request carried out, then a reset instead of the response',
        holds: 'a read is tried once more; a write is 502 with an unknown outcome, carried out exactly once',
      },
      {
        id: 'U7',
        fault: 'request carried out, then the connection closed instead of a response',
        holds: 'as for a reset',
      },
      {
        id: 'U8',
        fault: 'idle connection closed just as a request goes out on it',
        holds: 'a read is tried once more; an order never uses a connection again',
      },
      {
        id: 'U9',
        fault: 'reset in the middle of the body',
        holds: 'a read is tried once more, then 503; a write is 502 unknown; half a body is never read',
      },
      {
        id: 'U10',
        fault: 'body shorter than its Content-Length',
        holds: 'a read is tried once more, then 503; a write is 502 unknown',
      },
      {
        id: 'U11',
        fault: 'chunks end without the last one',
        holds: 'a read is 502, a write 502 unknown',
      },
      {
        id: 'U12',
        fault: 'body cut where only the end of the connection marks its end',
        holds: 'a read is 502 upstream-contract-violation: only the parser can tell; a write is 502 unknown',
      },
      {
        id: 'U13',
        fault: 'body arrives byte by byte, without end',
        holds: '504 at the total deadline, a write with an unknown outcome',
      },
      { id: 'U14', fault: 'headers arrive byte by byte', holds: 'the same' },
      {
        id: 'U15',
        fault: 'a valid response, long after the deadline',
        holds: '504 at the deadline; no other call gets the late response, and that of an order is kept',
      },
      {
        id: 'U16',
        fault: 'half-open connection: the peer disappeared silently',
        holds: '504 at the deadline; the connection is closed, and the next request opens another',
      },
      {
        id: 'U17',
        fault: 'HTTP 500 with an HTML page',
        holds: 'a read is 503, a write 502 unknown; no caller sees the page',
      },
      {
        id: 'U18',
        fault: 'HTTP 502 or 504',
        holds: 'a read is tried once more, then 503 or 504; a write is unknown',
      },
      {
        id: 'U19',
        fault: 'HTTP 503 with Retry-After',
        holds:
          'passed on, not tried again within the request, and the operation is not called until then; a write is unknown',
      },
      {
        id: 'U20',
        fault: 'HTTP 429 with Retry-After in every form, or without',
        holds:
          'a read is 503 with the same time, 60 s at most; a write is unknown; a wrong form counts as absent',
      },
      {
        id: 'U21',
        fault: 'redirect to another host',
        holds: 'not followed: the other host gets no request; a read is 502, a write 502 unknown',
      },
      {
        id: 'U22',
        fault:
          'HTTP 401 or 403 without an envelope, perhaps of a firewall after the platform has carried out the request',
        holds:
          'a read as after the code 60000: another token, one more attempt, then 502 upstream-credential-rejected; a write is 502 unknown, sent once',
      },
      {
        id: 'U23',
        fault: 'a status that the interface does not have (100, 103, 204, 304, 418, 999)',
        holds: 'a read is 502 upstream-contract-violation, a write 502 unknown; 1xx alone is no response',
      },
      {
        id: 'U24',
        fault: 'body of 200 MiB, or many large ones at once',
        holds:
          'cut off at 16 MiB with its connection, memory stays constant; a read is 502, a write 502 unknown. Of reads beyond 64 MiB together, those that still grow are 503, and the others are served',
      },
      {
        id: 'U25',
        fault: 'gzip bomb',
        holds:
          'never inflated: the gateway requests no coding and accepts none; a read is 502, a write 502 unknown',
      },
      { id: 'U26', fault: 'a thousand content codings', holds: 'the same' },
      {
        id: 'U27',
        fault: 'two lengths that differ, or a length and chunks',
        holds: 'a read is 502, a write 502 unknown; the connection is not used again',
      },
      {
        id: 'U28',
        fault: '64 KiB of headers, 10,000 headers',
        holds: 'a read is 502, a write 502 unknown',
      },
      {
        id: 'U29',
        fault: 'the platform is down altogether under load',
        holds: '503 in milliseconds once the breaker is open, nothing sent; at most 1.2 attempts a request',
      },
      { id: 'U30', fault: 'one route of the platform stalls', holds: 'only its group of operations suffers' },
      {
        id: 'U31',
        fault: 'the IPv6 address fails, the IPv4 address works',
        holds: 'the call succeeds over IPv4',
      },
      { id: 'U32', fault: "the platform's Date is 1970", holds: 'no effect' },
      {
        id: 'U33',
        fault: 'the platform has a licence order of another order under the number of an order in doubt',
        holds:
          'older than the submission it proves nothing: the order stays in doubt; the clocks may differ by a minute',
      },
    ],
  },
  {
    title: 'Upstream content',
    rows: [
      {
        id: 'C1',
        fault: 'malformed JSON',
        holds: 'a read is 502 upstream-contract-violation, a write 502 unknown',
      },
      { id: 'C2', fault: 'an empty body, null, a list, a string, a number', holds: 'the same' },
      {
        id: 'C3',
        fault: 'an HTML page with status 200',
        holds: 'the same, and nothing of it is shown or logged but its length and hash',
      },
      { id: 'C4', fault: 'a byte order mark before the JSON', holds: 'dropped once, accepted' },
      { id: 'C5', fault: 'bytes that are not UTF-8', holds: '502, no replacement characters' },
      {
        id: 'C6',
        fault: 'a code that only looks like 0',
        holds: 'success is 0 or "0" and nothing else',
      },
      { id: 'C7', fault: 'status 200 with another code', holds: 'means what it means with 299' },
      { id: 'C8', fault: 'status 299 with code 0', holds: '502, a write unknown' },
      { id: 'C9', fault: 'a code that is a list, or a megabyte long', holds: '502, shown nowhere' },
      {
        id: 'C10',
        fault: 'ids as numbers beyond 2^53',
        holds: 'callers get every digit, as strings',
      },
      {
        id: 'C11',
        fault: 'ids that are negative, fractions or exponents',
        holds: 'null; an item that is found by its id is left out, a result of a write is unknown',
      },
      {
        id: 'C12',
        fault: 'success without the data that belongs to it',
        holds:
          '502; null for a list is an empty one; a write is unknown, an order processed, and neither is ever sent again',
      },
      {
        id: 'C13',
        fault: 'results that do not match the items of an order one to one',
        holds: '502, never sent again',
      },
      { id: 'C14', fault: 'data null or absent where none is needed', holds: 'success' },
      {
        id: 'C15',
        fault: 'fields that the interface does not have',
        holds: 'dropped, noted by name and counted',
      },
      {
        id: 'C16',
        fault: 'a known field of another type',
        holds: 'null and noted by name, the rest is served; of a write that decides an outcome: unknown',
      },
      {
        id: 'C17',
        fault: '__proto__ and constructor as keys',
        holds: 'dropped; no prototype changes',
      },
      {
        id: 'C18',
        fault: '10,000 levels of nesting',
        holds: '502 before the gateway walks them; the process lives',
      },
      { id: 'C19', fault: 'a repeated key', holds: '502' },
      {
        id: 'C20',
        fault: 'numbers beyond int64, fractions; hexadecimal, which is no JSON',
        holds: 'null and noted; 502 when the response is no JSON',
      },
      {
        id: 'C21',
        fault: 'a page that contradicts itself',
        holds:
          '502 when the list is longer than requested by more than a tenth; the gateway does not loop up to its totals',
      },
      {
        id: 'C22',
        fault: 'a partly successful addition with empty lists, or one user in both',
        holds: 'passed on row by row, the contradictions counted',
      },
      {
        id: 'C23',
        fault: 'lock results that leave numbers out or add some',
        holds: 'one result for each requested number, unknown without a result; others dropped',
      },
      {
        id: 'C24',
        fault: 'trees a thousand deep or a hundred thousand wide',
        holds: '502 from 16 levels and 10,000 nodes on',
      },
      {
        id: 'C25',
        fault: "line breaks, terminal codes, scripts or a megabyte in the platform's message",
        holds: 'cleaned and cut to 500 characters in problem and log',
      },
      {
        id: 'C26',
        fault: 'our secrets echoed',
        holds: 'masked by value',
      },
      {
        id: 'C27',
        fault: 'times whose size contradicts the configured unit',
        holds: 'converted, delivered and noted; null when that gives a year of five digits',
      },
      {
        id: 'C28',
        fault: 'asset numbers of an unknown form or region',
        holds: 'delivered with an unknown region, since they are consumed; noted',
      },
      {
        id: 'C29',
        fault: 'the answer to an order names another customer than the order',
        holds:
          '502, unknown: the order is in doubt and never sent again, and no id of the answer is shown or kept',
      },
      {
        id: 'C30',
        fault: 'pages of members that are smaller than requested, or refused because they are large',
        holds:
          'exports, imports, lookups, single members, pages and counts have every member; the size is remembered for all replicas, and noted as a gap',
      },
      {
        id: 'C31',
        fault:
          'a list of members that becomes shorter while it is read, repeats a page, or has fewer members than its total',
        holds:
          'it is read once more; then an export ends with an error that its last line names, and no reader takes a part for the list',
      },
    ],
  },
  {
    title: 'Token endpoint',
    rows: [
      {
        id: 'T1',
        fault: 'down at start',
        holds: 'the gateway starts, degraded; calls are 503 dependency-unavailable with Retry-After',
      },
      {
        id: 'T2',
        fault: 'down later',
        holds: 'every call succeeds while the token is valid, then 503',
      },
      {
        id: 'T3',
        fault: 'slow',
        holds: 'one request for all waiting calls; each ends at its own deadline, the request goes on',
      },
      { id: 'T4', fault: 'a thousand cold callers on three replicas', holds: 'one token request' },
      {
        id: 'T5',
        fault: "a user's password refused",
        holds: 'not tried again; remembered from 60 s up to 15 min; 502 upstream-credential-rejected',
      },
      { id: 'T6', fault: "the application's secret refused", holds: 'the same, logged as an error' },
      { id: 'T7', fault: 'HTML, no JSON, or no token with status 200', holds: 'a failure, with backoff' },
      {
        id: 'T8',
        fault: 'lifetimes of every odd kind',
        holds:
          'a default when it is absent, text accepted, a day at most, a very short one used and not stored',
      },
      { id: 'T9', fault: 'a token that a header cannot carry, or of 20 kB', holds: 'refused, not stored' },
      {
        id: 'T10',
        fault: 'a token revoked during a thousand calls',
        holds: 'one renewal, one more attempt each',
      },
      {
        id: 'T11',
        fault: 'an endpoint that issues revoked tokens',
        holds: 'one more attempt, then a pause of 10 s: no storm',
      },
      { id: 'T12', fault: "one user's token refused", holds: 'only that one is dropped' },
      { id: 'T13', fault: '429 or 503 with Retry-After', holds: 'obeyed by every replica' },
      {
        id: 'T14',
        fault: 'the replica that renews is killed',
        holds: 'another takes over within the lifetime of the lock',
      },
      {
        id: 'T15',
        fault: 'a renewal slower than its lock',
        holds: 'one further request at most; an older token never replaces a newer one',
      },
      {
        id: 'T16',
        fault: 'the clock of one replica jumps by an hour',
        holds: 'expiry follows the monotonic clock and Redis; no refused token is used twice',
      },
      { id: 'T17', fault: 'the secret is rotated', holds: 'picked up without a restart' },
      { id: 'T18', fault: 'a redirect', holds: 'not followed: the body holds the secret' },
    ],
  },
  {
    title: 'Redis',
    rows: [
      { id: 'R1', fault: 'down at start', holds: 'the gateway starts with its own memory, degraded' },
      {
        id: 'R2',
        fault: 'killed while in use',
        holds: 'tokens and reads go on from memory; one token request a replica and lifetime at most',
      },
      {
        id: 'R3',
        fault: 'frozen',
        holds: 'one command reaches its time limit, later calls do not wait',
      },
      { id: 'R4', fault: 'accepts connections and never replies', holds: 'the same' },
      { id: 'R5', fault: 'slow by 100 ms', holds: 'works' },
      {
        id: 'R6',
        fault: 'reset after a write, before its reply',
        holds: 'harmless for tokens',
      },
      {
        id: 'R7',
        fault: 'connection lost while an order is finished',
        holds: 'the order is in doubt, the response still true',
      },
      {
        id: 'R8',
        fault: 'failover to a replica, which may miss the latest writes, or while both servers take writes',
        holds:
          'tokens: another request, no error; orders: a record is with a replica before its order is sent, so no order is sent by both sides; 503 when no replica acknowledges',
      },
      {
        id: 'R9',
        fault: 'emptied',
        holds:
          'tokens are fetched again; orders stop until an operator confirms, also in a gateway that starts and remembers the store',
      },
      { id: 'R10', fault: 'wrong password, or a command denied', holds: 'degraded, counted' },
      {
        id: 'R11',
        fault: 'out of memory: reads work, writes fail',
        holds:
          'on local memory, and Redis is still read; `ready` says down, and one log line why, until there is room',
      },
      {
        id: 'R12',
        fault:
          'a server that evicts, or is set to while it runs; or whose log is switched off or made weaker then',
        holds:
          'the cache: a warning at start; the order store: the start is refused, later orders stop within three seconds until the setting is corrected. A log that was weak from the first use on is warned of; one that keeps less than it did stops orders until it is set back, or an operator confirms it with guard-init',
      },
      {
        id: 'R13',
        fault: 'values corrupted, cut, of another version or key',
        holds: 'a miss, deleted and counted',
      },
      { id: 'R14', fault: "another type at the gateway's key", holds: 'a miss' },
      {
        id: 'R15',
        fault: 'connected to a replica that may not write',
        holds:
          'connects again, less and less often; `ready` says down while Redis takes no writes, and the gateway reads it',
      },
      { id: 'R16', fault: 'loading, not able to persist, or full of clients', holds: 'degraded' },
      {
        id: 'R17',
        fault: 'all keys expire at once',
        holds: 'lifetimes are spread, one token request a credential',
      },
      {
        id: 'R18',
        fault: "the clock of the order store's host steps by 2 s, an hour, 8 days, 405 days, ahead or back",
        holds:
          "the platform's response to an order is recorded; no order and no write with an Idempotency-Key runs again, since no record ends by one clock alone",
      },
      {
        id: 'R19',
        fault: 'a Redis without WAITAOF',
        holds: 'noticed, and another setting required',
        notHere:
          'the gateway does not use WAITAOF: the store must write its log before it replies (appendfsync always), which the gateway checks at start',
      },
      {
        id: 'R20',
        fault:
          'the record of an order is gone, or cannot be reached any more, when the platform has responded',
        holds:
          "the caller gets the platform's response; a log line and a metric say what could not be recorded",
      },
      {
        id: 'R21',
        fault: 'the order store goes back: a log cut short, a restored copy, a replica promoted too early',
        holds:
          'orders stop in every gateway, also in one that starts later and remembers the count, or that knows nothing of the lost writes when it connects again, until an operator confirms with guard-init, which says how many writes are missing',
      },
      {
        id: 'R22',
        fault:
          'the order store answers reads and takes no order: no replica acknowledges, too few are connected, it is full',
        holds:
          '`ready`, a log line and a metric say so within seconds, also at a gateway that no order comes to, and take it back by themselves',
      },
      {
        id: 'R23',
        fault: 'Redis 7.0 leaves out the transactions of its log, since its user `default` may do nothing',
        holds:
          'epoch and count share the fate of the records: orders stop, also in a gateway that starts and remembers nothing (with GUARD_INIT=manual)',
      },
      {
        id: 'R24',
        fault: 'Redis refuses the connection: wrong password, protected mode, TLS',
        holds:
          "one log line has the server's words, and another only where they change; no secret is in a line, and no library prints",
      },
      {
        id: 'R25',
        fault: "the gateway's user of Redis lacks a right, at start or later",
        holds:
          'one log line names the command or the keys, and `ready` says down; the gateway reads what it may; without a right on the order store orders are 503 until it is granted',
      },
      {
        id: 'R26',
        fault: 'Redis requires a client certificate',
        holds:
          'the gateway shows its certificate; without one, or with one of another authority, Redis is down and a log line says so',
      },
    ],
  },
  {
    title: 'Order stores of several servers, with TLS and users',
    rows: [
      {
        id: 'N1',
        fault: 'kill -9 of the master; it comes back as a replica',
        holds:
          'orders stop and `ready`, a log line and a metric say so; they go on by themselves with the next master; no order is placed twice, and no response is false',
      },
      {
        id: 'N2',
        fault: 'an operator makes another server the master',
        holds: 'the same',
        notHere: longScene('masters switched'),
      },
      {
        id: 'N3',
        fault: 'kill -9 of every server at once, and a start with the data',
        holds: 'the same',
        notHere: longScene('power cut'),
      },
      {
        id: 'N4',
        fault:
          'the clock of the order store steps by 2 s, an hour, 8 days and 405 days, ahead and back, during orders',
        holds: 'no order is placed twice, no response is false, and orders do not stop',
        notHere: longScene('clock steps'),
      },
      {
        id: 'N5',
        fault:
          'the master and a gateway are cut off from all other hosts, and both sides get the same orders',
        holds:
          'the gateway that is cut off sends nothing, since no replica acknowledges; the other side goes on with the next master',
        notHere: longScene('split brain'),
      },
      {
        id: 'N6',
        fault: 'no byte gets from the master to its replicas',
        holds:
          'nothing is sent: 503 not_processed; `ready`, a log line and a metric say so; a repeat is placed once they are connected again',
      },
      {
        id: 'N7',
        fault:
          'the master, a replica, a sentinel and a gateway are cut off from all other hosts for more than 15 seconds',
        holds:
          'no order is placed twice; what the side that is cut off has placed is missing at the next master: orders stop at every gateway once the one that was cut off is connected again, until an operator confirms with guard-init, which says how many are missing',
        notHere: longScene('split brain with a replica'),
      },
      {
        id: 'N8',
        fault: 'a second failover soon after the first, while replicas come back one by one',
        holds:
          'for 15 seconds after it has connected again the gateway looks for replicas twice a second, and asks for the acknowledgement of each that has come',
      },
      {
        id: 'N9',
        fault:
          'a failover soon after the master, or a gateway, has started again, while replicas are missing',
        holds:
          'for 15 seconds the gateway asks for the acknowledgement of each replica that there was before, so the next master has each order that was sent',
      },
      {
        id: 'N10',
        fault: 'the store has lost writes, and the only gateway that has seen them was cut off',
        holds:
          'the gateway tells the store as soon as it is connected again, and from then on orders stop at every gateway',
      },
    ],
    after: TOPOLOGIES,
  },
  {
    title: 'Process',
    rows: [
      {
        id: 'P1',
        fault: 'SIGTERM with calls in flight',
        holds: 'not ready at once, late connections served for a while, calls finish, exit 0',
      },
      {
        id: 'P2',
        fault: 'SIGTERM with calls longer than the grace',
        holds: '504, a write unknown, then exit',
      },
      { id: 'P3', fault: 'a second signal', holds: 'changes nothing' },
      {
        id: 'P4',
        fault: 'killed before an order is marked as sent',
        holds: 'nothing was sent, a repeat succeeds',
      },
      {
        id: 'P5',
        fault: 'killed between the mark and the first byte',
        holds: 'in doubt, by design',
      },
      {
        id: 'P6',
        fault: 'killed after the platform accepted an order',
        holds: 'in doubt soon, in the list of orders, never sent again',
      },
      {
        id: 'P7',
        fault: 'killed after an order was recorded, before the response',
        holds: 'a repeat gets the recorded success',
      },
      {
        id: 'P8',
        fault: 'event loop blocked for seconds',
        holds:
          'alive again afterwards; an order whose confirmation is older than 100 ms is not sent, and is confirmed once more; where that is too old as well, it is 503 not_processed',
      },
      {
        id: 'P9',
        fault: 'stopped for a minute, then continued',
        holds: 'a process that lost the lease records success only, and sends nothing',
      },
      {
        id: 'P10',
        fault: 'heap, or memory of any kind, nearly full',
        holds: '503 overloaded for new requests, health stays up, requests in flight finish',
      },
      {
        id: 'P11',
        fault: 'out of memory',
        holds: 'as after a kill: a new process serves at once',
      },
      {
        id: 'P12',
        fault: 'an unhandled rejection or exception',
        holds: 'a log line without values, not ready, requests in flight finish, exit 1',
      },
      { id: 'P13', fault: 'out of file descriptors', holds: 'recovers' },
      { id: 'P14', fault: 'the log cannot be written', holds: 'requests are served' },
      {
        id: 'P15',
        fault: 'the clock steps by a day',
        holds: 'nothing expires early, nothing is sent twice',
      },
      {
        id: 'P16',
        fault: 'replicas of two versions',
        holds: 'a record of an unknown version is 503, not a guess',
      },
      {
        id: 'P17',
        fault: 'wrong configuration',
        holds: 'the start is refused with the name of the variable, not its value',
      },
      {
        id: 'P18',
        fault: 'a container of 512 MiB',
        holds: 'the gateway that is shipped uses a fifth of the heap that Node gives it there, and serves',
      },
      {
        id: 'P19',
        fault: 'all cores are busy while V8 collects garbage',
        holds:
          'on Linux V8’s helper threads have a lower priority than the thread that serves requests, where there is more than one core',
      },
      {
        id: 'P20',
        fault: 'a file of the API page or of the console is missing in what was installed',
        holds: 'the start is refused and names the file; the shipped bundle has every file of both pages',
      },
    ],
  },
  {
    title: 'Clients',
    rows: [
      {
        id: 'K1',
        fault: 'a body of 10 MiB, with and without its length',
        holds:
          '413, which reaches a client that is still sending; the connection ends, memory stays constant',
      },
      { id: 'K2', fault: '10,000 levels of nesting', holds: '400, from 32 levels on' },
      { id: 'K3', fault: '300,000 keys', holds: '413 by the size of the body, or 400 by their number' },
      { id: 'K4', fault: 'a body of another type, charset or coding, or without a type', holds: '415' },
      { id: 'K5', fault: 'bytes that are not UTF-8, half a surrogate pair', holds: '400' },
      {
        id: 'K6',
        fault: 'control, bidirectional and zero-width characters',
        holds: '400; names are brought to normal form C',
      },
      {
        id: 'K7',
        fault: 'fields and parameters that are unknown or missing, a body on a method without one',
        holds: '400 with a pointer or name for each',
      },
      {
        id: 'K8',
        fault: 'values of another type, beyond their range, or impossible',
        holds: '400; nothing is converted',
      },
      { id: 'K9', fault: 'keys that reach a prototype, repeated keys', holds: '400' },
      { id: 'K10', fault: 'headers with names of object members', holds: 'a normal response' },
      {
        id: 'K11',
        fault: 'path ids that would lead to another path; order numbers that no path can name (`.`, `..`)',
        holds: '400, nothing is sent',
      },
      {
        id: 'K12',
        fault: 'a route in another spelling',
        holds: 'without credentials the handler never runs',
      },
      { id: 'K13', fault: 'line breaks in headers, ids and queries', holds: '400, nothing is sent' },
      { id: 'K14', fault: 'parameters repeated, or in brackets', holds: '400' },
      { id: 'K15', fault: 'page sizes of zero, less, or too much', holds: '400' },
      {
        id: 'K16',
        fault: 'too many members, or fields of members that are too long',
        holds: '400 before anything is sent',
      },
      {
        id: 'K17',
        fault: 'orders that the rules of the platform forbid',
        holds: '400 before anything is sent',
      },
      { id: 'K18', fault: 'headers without an end', holds: 'closed within 6 s' },
      { id: 'K19', fault: 'a body without an end', holds: 'closed within 11 s' },
      {
        id: 'K20',
        fault: 'a response that the client does not read',
        holds: 'closed within 30 s; a client that waits for its response may wait',
      },
      {
        id: 'K21',
        fault: 'more connections than the gateway accepts',
        holds:
          'idle ones are closed, first those of clients without a key, of which new ones (100 ms) and settled ones (250 ms) are spared while there are others: every new one is served',
      },
      { id: 'K22', fault: 'a caller hangs up on a read', holds: 'the call to the platform ends' },
      {
        id: 'K23',
        fault: 'a caller hangs up on an order or another write',
        holds: 'it is carried out and recorded, once',
      },
      {
        id: 'K24',
        fault: 'bytes that are not valid HTTP, requests hidden in others',
        holds:
          '400 and the end of the connection, nothing is sent; an order before them gets its own response',
      },
      { id: 'K25', fault: 'a header of 20 kB, 2,000 headers, a URL of 16 kB', holds: '431, 431, 414' },
      {
        id: 'K26',
        fault: 'methods that a path does not have',
        holds: '405 with Allow; 404 for an unknown path',
      },
      { id: 'K27', fault: 'an Accept header that refuses JSON', holds: '406' },
      {
        id: 'K28',
        fault: 'forged X-Forwarded headers and request ids',
        holds: 'the gateway ignores the headers and makes another id',
      },
      {
        id: 'K29',
        fault: 'no key, a wrong one, one that was withdrawn',
        holds:
          '401, which tells a missing key from a wrong one; wrong ones look alike, whether they were ever valid or not',
      },
      { id: 'K30', fault: "another tenant's enterprise or channel", holds: '403 before anything is sent' },
      {
        id: 'K31',
        fault: 'a flood from one caller',
        holds: '429 for that one alone; callers whose requests wait take turns',
      },
      {
        id: 'K32',
        fault: 'one order submitted 200 times at once',
        holds: 'one call to the platform; the others 409 or the stored response',
      },
      { id: 'K33', fault: 'an order number used for another order', holds: '422 idempotency-key-reused' },
      { id: 'K34', fault: 'an order number under another Idempotency-Key', holds: 'the same order' },
      { id: 'K35', fault: 'text that makes regular expressions slow', holds: 'refused within milliseconds' },
      { id: 'K36', fault: 'a password in a query', holds: '400, and in no log line' },
      {
        id: 'K37',
        fault: 'pages of orders from a store of a million',
        holds:
          'the work for a page is bounded, with all filters and grants; only orders whose channel and enterprises are granted; it ends when the caller hangs up; a caller reads one page at a time, and the process two; beside other callers a caller rests between its pages for twice their time',
      },
      {
        id: 'K38',
        fault: 'many clients without a key that send bodies',
        holds:
          '401 by the headers alone, one in 4 ms; of more than a thousand that wait the first is closed without it; the gateway reads no more, also after the response, and the connection ends; memory stays constant',
      },
      {
        id: 'K39',
        fault: 'a caller that has more bodies under way than its share of the memory',
        holds: '503 overloaded before they are read, for that caller alone; every byte is freed',
      },
      {
        id: 'K40',
        fault: 'a flood of requests for public pages and for the health',
        holds:
          'known callers are served first; health is served; at most a thousand others wait, and one begins in 2 ms; health requests beyond one a second on a connection begin once in 4 ms; the bytes are made once',
      },
      {
        id: 'K41',
        fault: 'a caller sends wrong requests with a new Idempotency-Key each, or very many valid ones',
        holds:
          'what is wrong, or names what is not granted or not there, never reaches the store, and is told so also while it is full; a write that changed nothing leaves no record; beyond 10,000 records of a caller its further writes with a key are 429; orders and other callers are served',
      },
      {
        id: 'K42',
        fault: 'a client without a key sends a thousand requests at once on one connection',
        holds: 'with more than 16 under way the gateway closes the connection, and reads none of the rest',
      },
      {
        id: 'K43',
        fault: 'a deletion with `allOrders` takes a product from assets that it does not name',
        holds: '`validateOnly` names them in `effects`, with what they would lose, before anything is sent',
      },
      {
        id: 'K44',
        fault:
          'the gateway is killed and started again while callers place orders through the client package',
        holds: 'each order is placed once, refused, or in doubt, and the client says which',
      },
      {
        id: 'K45',
        fault:
          'the connection to a caller with the client package is cut after the platform placed its order',
        holds:
          'the client asks again under the same number and gets the record; any other write is not repeated',
      },
      {
        id: 'K46',
        fault: 'the answer to a first attempt of the client package is lost, and a later attempt is refused',
        holds: 'the client says that the outcome is unknown, not what the refusal alone would mean',
      },
      {
        id: 'K47',
        fault: 'what answers the client package redirects it to another server',
        holds: 'it does not follow: the key stays',
      },
      {
        id: 'K48',
        fault: 'a caller hangs up while the gateway verifies its token',
        holds: 'the request counts against no limit of the caller, and the platform gets no call',
      },
      {
        id: 'K49',
        fault: 'a caller sends wrong requests one after another without end',
        holds:
          'beside other callers a hundred are refused at once, and then one in 10 ms: the others wait, and those that would wait for more than a second are 429; alone it does not wait',
      },
      {
        id: 'K50',
        fault: 'a file with a fault at its beginning, from a client that sends all of it before it reads',
        holds: 'the gateway reads and discards the rest, so that the client gets the response at once',
      },
      {
        id: 'K51',
        fault: 'a body that is not JSON',
        holds: '400 with line and column and what is expected there; nothing of the body is repeated',
      },
      {
        id: 'K52',
        fault: 'a body of another type, in another encoding, compressed',
        holds: '415 with what came and what there is',
      },
      { id: 'K53', fault: 'an `Accept` that the operation has no type for', holds: '406 with what there is' },
      {
        id: 'K54',
        fault: 'a path that no operation has, or another method',
        holds: '404 with the nearest path, for known callers only; 405 with the methods',
      },
      {
        id: 'K55',
        fault: 'an enterprise that the platform does not know',
        holds:
          'the same at every read, whether the platform refuses or answers an empty list: lists are empty, single things 404; another refusal stays one',
      },
      {
        id: 'K56',
        fault: 'an order whose outcome is unknown',
        holds: 'the response says not to send it under another number, and to look at `Location`',
      },
      {
        id: 'K57',
        fault: 'a member whose name or remark begins like a formula, in an export that a spreadsheet opens',
        holds:
          'with `cells=text` the cell is text; without it every byte is as it was, and can be imported again',
      },
      {
        id: 'K58',
        fault:
          'a known caller sends as much as a request may have of what is cheap to make: commas, blank lines, names, numbers, quotes',
        holds:
          'no turn of the event loop takes more than 100 ms of the processor: a file is read in slices, a row of very many cells, an object of very many fields and the hundredth fault end the reading',
      },
    ],
  },
  {
    title: 'Operations',
    rows: [
      {
        id: 'O1',
        fault: 'an encryption key is replaced',
        holds: 'the old one still opens what it sealed: no session, token, cached read or order is lost',
      },
      {
        id: 'O2',
        fault: 'an encryption key that seals orders is removed',
        holds:
          'the start is refused, with their number, while one of them is not settled; a repeat of a settled one gets 503, not retryable, with a log line and a metric',
      },
      {
        id: 'O3',
        fault: 'an API key is replaced',
        holds: 'both are valid while both are in the file; the old one is 401 as soon as it is removed',
      },
      {
        id: 'O4',
        fault: 'a client certificate is replaced',
        holds: 'no connection is dropped',
        notHere: 'the gateway has none: the platform knows its applications by key and secret',
      },
      { id: 'O5', fault: 'the receiver of the log is down', holds: 'no effect' },
      { id: 'O6', fault: 'a client requests the documentation in production', holds: '404' },
      {
        id: 'O7',
        fault: 'an order that was settled as not placed appears',
        holds: "an alarm tells the operator; the record keeps the operator's decision and the finding",
      },
      {
        id: 'O8',
        fault: 'another platform, on the same Redis',
        holds: 'shares no token, session, read or order',
      },
      {
        id: 'O9',
        fault: "the application's key is replaced, the gateway's or a caller's own",
        holds:
          'an order that was placed before is the same order: a repeat gets the response from its record',
      },
      {
        id: 'O10',
        fault: 'another encryption key under an id that the order store knows',
        holds: 'the start is refused, and the id is named',
      },
      {
        id: 'O11',
        fault: 'two operators settle an order with different results, one after the other or at once',
        holds:
          'one result is taken; the other is 409 with what stands there, which the console shows; the same settlement again gets the record',
      },
      {
        id: 'O12',
        fault: 'the platform accepts an order for later, and nothing ever shows that it was carried out',
        holds:
          'its record stays; the age of the oldest is a metric with an alert, the console shows it from ACCEPTED_ALERT_AFTER_MS on, and then it may be settled either way',
      },
    ],
  },
  {
    title: 'Trust and operation',
    rows: [
      {
        id: 'G1',
        fault: 'the file of callers or of users is missing, no JSON, or breaks a rule',
        holds:
          'a precise error for each of the three: the path, then line and column, or the field and the name of its entry; no value of the file',
      },
      {
        id: 'G2',
        fault: 'NODE_TLS_REJECT_UNAUTHORIZED=0 switches the check of certificates off',
        holds:
          'the gateway does not start with it, and every connection (platform, tokens, keys of the issuer, Redis) still checks them',
      },
      {
        id: 'G3',
        fault: 'tokens with made-up key ids, while the issuer rotates its keys',
        holds:
          'made-up ids have a small budget of requests of their own; a new key of the issuer is valid within 5 seconds',
      },
      {
        id: 'G4',
        fault: 'the issuer publishes an empty set of keys',
        holds: 'known keys stay valid for 15 minutes, and the log says so',
      },
      {
        id: 'G5',
        fault: 'the clock of a replica is hours ahead or behind',
        holds: 'only the clock of Redis decides the life of sessions',
      },
      {
        id: 'G6',
        fault: "the platform's message to a caller quotes a secret of the gateway, plain or encoded",
        holds:
          'every known secret is masked, as in the log: configuration, tokens, passwords in requests, in their encoded forms',
      },
      {
        id: 'G7',
        fault: 'an image is replaced under its tag, or a container is taken over',
        holds:
          'images by digest; no root, no capabilities, read-only, with limits; only the ports that people call are published, on the loopback address',
      },
      {
        id: 'G8',
        fault: 'npm run compose-secrets is run again',
        holds:
          'nothing is replaced without --force, and the script names what that would lose; only their owner can read the files',
      },
      {
        id: 'G9',
        fault: 'a port of the gateway or of the demo is taken',
        holds: 'the start ends with the name of the variable to change, and leaves nothing behind',
      },
      {
        id: 'G10',
        fault: 'the demo is started again',
        holds: 'it builds only where a source has changed since the last build',
      },
      {
        id: 'G11',
        fault: "the sandbox's clock is moved in the demo",
        holds: "the gateway's clock follows it; the shipped gateway has nothing that could",
      },
      {
        id: 'G12',
        fault: 'an order is in doubt, a store is away or credentials are refused, and one person is on call',
        holds:
          'the console of any replica says it in words, with the cause and the alert whose runbook helps; orders are settled there with a credential that may, after a confirmation that says what it means',
      },
    ],
  },
  {
    title: 'Security',
    heads: ['risk', 'control'],
    rows: [
      {
        id: 'S1',
        fault:
          "a caller uses the gateway's tokens on an enterprise, channel or user that is not its own, or on a record of another enterprise by its id",
        holds:
          'denied by default: an enterprise, channel or user that is not granted is 403, and the platform is not called; every other id is looked up in the named enterprise, and one of another enterprise gets the response of an unknown id, and the record of an order in the same time too; both are checked once more on the upstream request. A field with an id and without a rule fails a test',
      },
      {
        id: 'S2',
        fault: 'orders placed twice, or deleted too widely',
        holds:
          'at most one call for an order, with any process or store killed, `allOrders` spelled out, scopes of their own for revoking and settling',
      },
      {
        id: 'S3',
        fault: 'secrets in logs, problems, Redis or the last output of a process',
        holds:
          'fields are chosen one by one, errors are logged by kind, location and message, without what the message quotes and what looks like a secret; known secrets are masked in every free text; each run of the tests is searched for its own secrets',
      },
      {
        id: 'S4',
        fault: 'an id escapes into another path of the platform',
        holds: 'a pattern for ids, and every built path is checked against its template',
      },
      {
        id: 'S5',
        fault: 'a route reached without credentials by another spelling',
        holds: 'a global guard and no path middleware; the list of public routes is frozen in a test',
      },
      {
        id: 'S6',
        fault: "a user's password is tried again and again until the account is locked",
        holds: 'a refusal is remembered by all replicas, for longer each time',
      },
      {
        id: 'S7',
        fault: "employees' passwords in requests",
        holds: 'passed on and forgotten: in no record, job, validation error or line',
      },
      {
        id: 'S8',
        fault: 'tokens follow a redirect, or a proxy that the environment names',
        holds: 'neither is followed: only the configured origins are called, directly',
      },
      {
        id: 'S9',
        fault: "an object's prototype is polluted",
        holds:
          'poisoned JSON is refused from callers and dropped from the platform; even a polluted prototype does not change what is sent',
      },
      {
        id: 'S10',
        fault: 'forged callers',
        holds:
          'keys of 256 bits, compared in constant time by their hashes; JWTs by pinned issuer, audience, algorithms and key set; every other credential is 401',
      },
      {
        id: 'S11',
        fault: 'exhaustion by one caller',
        holds: 'limits in size, depth, rate and number; the process lives, and other callers hardly notice',
      },
      {
        id: 'S12',
        fault: 'smuggled requests and injected headers',
        holds: 'a strict parser, the end of the connection, outgoing headers from a fixed list',
      },
      {
        id: 'S13',
        fault: "the gateway trusts the platform's responses",
        holds: 'they are typed, bounded and mapped field by field',
        notHere: 'the rows C1 to C28 are the tests',
      },
      {
        id: 'S14',
        fault: 'errors reveal too much',
        holds:
          "one filter; no stack, no host name, and of the platform's messages only those for people, with the gateway's names and pointers for its fields",
      },
      {
        id: 'S15',
        fault: 'a check that fails open',
        holds: 'an error in authentication, guard or validation denies: the platform is not called',
      },
      {
        id: 'S16',
        fault: 'public documentation and metrics',
        holds: 'off in production; metrics on a listener of their own, on the loopback address',
      },
      {
        id: 'S17',
        fault: 'a nonce that is guessed or used twice',
        holds: '128 random bits, new for every attempt',
      },
      {
        id: 'S18',
        fault: 'vulnerable or replaced dependencies',
        holds: 'exact versions, hashes in the lock file, an audit where the registry has one',
      },
      {
        id: 'S19',
        fault: 'writes without a trail',
        holds:
          'one line for each, with caller, user, operation, subject and outcome; a caller cannot forge one',
      },
      {
        id: 'S20',
        fault: 'a caller uses an asset number that it reserved for one enterprise, and then for another',
        holds:
          'the first order binds the number to its enterprise, until the platform is known not to have carried the order out; for each other enterprise the number gets the response of an unknown one',
      },
      {
        id: 'S21',
        fault: 'a page of another site reads or uses the console of an operator who has it open',
        holds:
          'requests under a foreign name (DNS rebinding) or from another origin are refused; nothing is changed without a credential, which only the memory of the tab has; no key and no secret is shown',
      },
      {
        id: 'S22',
        fault:
          'what throws outside of a guard: a listener, a timer, a stream, an event of a connection, a job',
        holds:
          'each has an edge that catches: a request gets 500 in problem+json, the log gets one line with the message, and the process goes on',
      },
      {
        id: 'S23',
        fault:
          'a page of another site reads `/metrics`, or commands the sandbox, in the browser of a developer or an operator',
        holds: 'requests under a foreign name (DNS rebinding) or from another origin are 403',
      },
      {
        id: 'S24',
        fault:
          'two callers of two companies choose the same name (key, order number, session, file, list) at the same moment at two replicas; two platforms share both Redis',
        holds:
          'nothing is shared: each form of key names what keeps them apart, and a new form has to be listed',
      },
    ],
  },
  {
    title: 'Imports',
    rows: [
      {
        id: 'J1',
        fault:
          'a file that is not what it should be: encoding, quotes, header, duplicate accounts, size, a zip, nothing',
        holds:
          'a precise response with row and column before there is a job, which repeats no password, and nothing is sent',
      },
      {
        id: 'J2',
        fault: 'a second import of an enterprise while one runs',
        holds: '409 with the id and the URL of the job that runs',
      },
      {
        id: 'J3',
        fault: 'an incomplete file would delete many members',
        holds:
          'more than `maxDeletes` is 422 with the number, and nothing is sent; the acting user is never deleted, also where its name has another case',
      },
      {
        id: 'J4',
        fault: 'a job of an enterprise that the caller was not granted',
        holds: 'the same response as for a job that does not exist',
      },
      {
        id: 'J5',
        fault:
          'processes and Redis are killed under imports, and the platform breaks calls off before and after it carries them out, is slow, and refuses single rows',
        holds:
          'no member is added twice, each row has the result that the platform has, every job ends, its progress never goes back, and no password can be read or outlives its call',
      },
      {
        id: 'J6',
        fault: 'a process dies after it took a job from the queue, and before it has the lease of the job',
        holds: 'another process takes the job within seconds',
      },
      {
        id: 'J7',
        fault: 'imports would take more room than they may have: of a caller, of the store, or by one file',
        holds: '503 or 413 before the file is read; an import that ends makes room for the next one',
      },
      {
        id: 'J8',
        fault: 'for a day the list of members cannot be read, or no process runs',
        holds: 'rows that were sent are unknown, those that were not have failed, and the passwords are gone',
      },
      {
        id: 'J9',
        fault: 'the session of an import ends while it runs, or its caller is removed',
        holds: 'the job fails with that problem and sends nothing further; what was sent has its result',
      },
      {
        id: 'J10',
        fault: 'the platform refuses a whole call, for single rows of it or for all that is sent',
        holds:
          'the rows that it refuses fail with its reason, and the others are added; where halves do not help, the call counts for all its rows',
      },
      {
        id: 'J11',
        fault:
          'an import is repeated with its `Idempotency-Key`, with the same file or another one of the same length',
        holds: 'the same file gets the first response; the other one is 422, and nothing of it is sent',
      },
      {
        id: 'J12',
        fault: 'a caller watches more jobs than its share',
        holds:
          '503 overloaded for that caller alone, also where it asks for all at once; a watcher that leaves makes room',
      },
      {
        id: 'J13',
        fault:
          'two callers import into two enterprises with the same `Idempotency-Key`: at the same moment at two replicas, or with an upload that is held back',
        holds: 'each has a job of its own, whose rows are in its own enterprise; neither sees the other',
      },
      {
        id: 'J14',
        fault: 'the order store loses the rows of an import that has not ended',
        holds:
          'the job fails and says so, and these rows are `unknown`; nothing is sent for them, and no member counts as missing from the file',
      },
      {
        id: 'J15',
        fault:
          'a caller loses its key, its scope or its entry while its import runs, or while it watches a job',
        holds:
          'the import ends with the chunk that is under way, and the rest is not sent; the watch ends without `done`',
      },
    ],
    after: IMPORT_CHAOS,
  },
];

/** Why a row is not tested, or undefined if it is. */
export function reasonOf(row: CatalogueRow): string | undefined {
  return 'notHere' in row ? row.notHere : undefined;
}

/** docs/faults.md. */
export function faultsPage(): string {
  const parts = sections.map(({ title, heads: [first, second] = ['fault', 'what must hold'], rows, after }) =>
    [
      `## ${title}`,
      '',
      `| row | ${first} | ${second} |`,
      '| --- | --- | --- |',
      ...rows.map(line),
      ...(after === undefined ? [] : ['', after]),
    ].join('\n'),
  );
  return `${[INTRODUCTION, ...parts].join('\n\n')}\n`;
}

const INTRODUCTION = `# Faults

What can go wrong around the gateway, and what must hold then. Each row is tested under \`test/faults/\`, \`test/security/\`, \`test/topology/\` or beside the code,
by tests whose titles begin with its id; a full test run prints the table and fails on a row without a test. Made from \`test/faults/catalogue.ts\` by
\`npm run generate\`.`;

function line(row: CatalogueRow): string {
  const reason = reasonOf(row);
  const suffix = reason ? ` *Not tested here: ${reason}.*` : '';
  return `| ${row.id} | ${row.fault} | ${row.holds}.${suffix} |`;
}
