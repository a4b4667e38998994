/**
 * What can go wrong around the gateway, and what must hold then. A test of a row has a title (its own or a describe block's) that
 * begins with the row's id; fault-table.reporter.ts holds the tests against this list, and docs/faults.md is made from it.
 */

interface Row {
  readonly id: string;
  /** What is injected. */
  readonly fault: string;
  /** What must be true then. */
  readonly holds: string;
}
/** Not tested under its own id, and why. */
interface AbsentRow extends Row {
  readonly notHere: string;
}
export type CatalogueRow = Row | AbsentRow;

export interface CatalogueSection {
  readonly title: string;
  /** The heads of the two columns, where they are not `fault` and `what must hold`. */
  readonly heads?: readonly [string, string];
  readonly rows: readonly CatalogueRow[];
}

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
        holds: 'as for a refused connection, and nothing of it is remembered',
      },
      {
        id: 'U3',
        fault: 'connection attempts swallowed',
        holds:
          'over after the connect timeout, one for all addresses of the host: a read 504, a write 503 not_processed',
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
        fault: 'request carried out, then a reset instead of the answer',
        holds: 'a read is tried once more; a write is 502 with an unknown outcome, carried out exactly once',
      },
      {
        id: 'U7',
        fault: 'request carried out, then the connection closed instead of an answer',
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
        fault: 'a good answer, long after the deadline',
        holds:
          '504 at the deadline; the late answer is not taken for the answer to anything else, and that of an order is kept',
      },
      {
        id: 'U16',
        fault: 'half-open connection: the peer vanished without a word',
        holds: '504 at the deadline; the connection is given up, and the next request opens another',
      },
      {
        id: 'U17',
        fault: 'HTTP 500 with an HTML page',
        holds: 'a read is 503, a write 502 unknown; the page is shown to nobody',
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
          'handed on, not tried again within the request, and the operation is left alone until then; a write is unknown',
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
        holds:
          'a read is 502 upstream-contract-violation, a write 502 unknown; 1xx alone is no answer at all',
      },
      {
        id: 'U24',
        fault: 'body of 200 MiB, or many large ones at once',
        holds:
          'cut off at 16 MiB with its connection, memory stays flat; a read is 502, a write 502 unknown. Of reads that are beyond 64 MiB together, those that grow are 503, and the others are served',
      },
      {
        id: 'U25',
        fault: 'gzip bomb',
        holds:
          'never inflated: no coding is asked for and none is accepted; a read is 502, a write 502 unknown',
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
        fault: 'the IPv6 address is dead, the IPv4 address lives',
        holds: 'the call succeeds over IPv4',
      },
      { id: 'U32', fault: 'the platform says it is 1970', holds: 'nobody cares' },
      {
        id: 'U33',
        fault:
          'a licence order of another order stands at the platform under the number of an order in doubt',
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
        holds: '502 before anything walks them; the process lives',
      },
      { id: 'C19', fault: 'a key given twice', holds: '502' },
      {
        id: 'C20',
        fault: 'numbers beyond int64, fractions; hexadecimal, which is no JSON',
        holds: 'null and noted; 502 where the answer is no JSON',
      },
      {
        id: 'C21',
        fault: 'a page that lies about itself',
        holds:
          '502 where the list is longer than asked by more than a tenth; nothing counts up to its totals',
      },
      {
        id: 'C22',
        fault: 'a partly successful addition with empty lists, or one user in both',
        holds: 'passed on row by row, the contradictions counted',
      },
      {
        id: 'C23',
        fault: 'lock results that leave numbers out or add some',
        holds: 'one result a number asked, unknown where there is none; others dropped',
      },
      {
        id: 'C24',
        fault: 'trees a thousand deep or a hundred thousand wide',
        holds: '502 from 16 levels and 10,000 nodes on',
      },
      {
        id: 'C25',
        fault: "line breaks, terminal codes, scripts or a megabyte in the platform's words",
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
        holds: 'delivered as they convert, noted; null where that gives a year of five digits',
      },
      {
        id: 'C28',
        fault: 'asset numbers of an unknown form or region',
        holds: 'delivered as of an unknown region, since they are consumed; noted',
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
        holds: 'every call succeeds while the token it has is good, then 503',
      },
      {
        id: 'T3',
        fault: 'slow',
        holds: 'one request for all who wait; each gives up at its own deadline, the request goes on',
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
          'a default where there is none, text accepted, a day at most, a very short one used and not kept',
      },
      { id: 'T9', fault: 'a token that no header can carry, or of 20 kB', holds: 'refused, not kept' },
      {
        id: 'T10',
        fault: 'a token revoked under a thousand calls',
        holds: 'one renewal, one more attempt each',
      },
      {
        id: 'T11',
        fault: 'an endpoint that issues dead tokens',
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
      { id: 'R1', fault: 'down at start', holds: 'the gateway starts on its own memory, degraded' },
      {
        id: 'R2',
        fault: 'killed while in use',
        holds: 'tokens and reads go on from memory; one token request a replica and lifetime at most',
      },
      {
        id: 'R3',
        fault: 'frozen',
        holds: 'one command runs into its time limit, later calls wait for nothing',
      },
      { id: 'R4', fault: 'accepts connections and never answers', holds: 'the same' },
      { id: 'R5', fault: 'slow by 100 ms', holds: 'works' },
      {
        id: 'R6',
        fault: 'reset after a write, before its reply',
        holds: 'harmless for tokens',
      },
      {
        id: 'R7',
        fault: 'connection lost while an order is finished',
        holds: 'the order is in doubt, the answer still true',
      },
      {
        id: 'R8',
        fault: 'failover to a replica, which may miss the latest writes, or while both servers take writes',
        holds:
          'tokens: another request, no error; orders: a record is with a replica before its order is sent, so no order is sent by both sides; 503 where no replica acknowledges',
      },
      {
        id: 'R9',
        fault: 'emptied',
        holds:
          'tokens are fetched again; orders stop until an operator confirms, also in a gateway that starts and remembers the store',
      },
      { id: 'R10', fault: 'wrong password, or a command denied', holds: 'degraded, counted' },
      { id: 'R11', fault: 'out of memory: reads work, writes fail', holds: 'on local memory' },
      {
        id: 'R12',
        fault: 'a server that evicts, or is set to while it runs',
        holds:
          'the cache: a warning at start; the order store: the start is refused, later orders stop until it is mended',
      },
      {
        id: 'R13',
        fault: 'values corrupted, cut, of another version or key',
        holds: 'a miss, deleted and counted',
      },
      { id: 'R14', fault: 'another type at our key', holds: 'a miss' },
      { id: 'R15', fault: 'connected to a replica that may not write', holds: 'connects again' },
      { id: 'R16', fault: 'loading, not able to persist, or full of clients', holds: 'degraded' },
      {
        id: 'R17',
        fault: 'everything expires at once',
        holds: 'lifetimes are spread, one token request a credential',
      },
      {
        id: 'R18',
        fault: "the clock of the order store's host steps by 2 s, an hour, 8 days, 405 days, ahead or back",
        holds:
          'what the platform said of an order is recorded; no order and no write with an Idempotency-Key runs again, since no record ends by one clock alone',
      },
      {
        id: 'R19',
        fault: 'a Redis without WAITAOF',
        holds: 'noticed, and another setting asked for',
        notHere:
          'WAITAOF is not used: the store is asked to write its log before it answers (appendfsync always), which is looked at when the gateway starts',
      },
      {
        id: 'R20',
        fault:
          'the record of an order is gone, or cannot be reached any more, when the platform has answered',
        holds:
          "the caller gets the platform's answer; a log line and a metric say what could not be recorded",
      },
      {
        id: 'R21',
        fault: 'the order store goes back: a log cut short, a restored copy, a replica promoted too early',
        holds:
          'orders stop in every gateway, also in one that starts later and remembers the count, until an operator confirms with guard-init, which says how many writes are missing',
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
          'orders stop and `ready`, a log line and a metric say so; they go on by themselves with the next master; nothing is placed twice, and no response is false',
      },
      { id: 'N2', fault: 'an operator has another server take over', holds: 'the same' },
      { id: 'N3', fault: 'kill -9 of every server at once, and a start with the data', holds: 'the same' },
      {
        id: 'N4',
        fault:
          'the clock of the order store steps by 2 s, an hour, 8 days and 405 days, ahead and back, while orders come in',
        holds: 'nothing is placed twice, no response is false, and orders do not stop',
      },
    ],
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
        holds: 'in doubt soon, visible, never sent again',
      },
      {
        id: 'P7',
        fault: 'killed after an order was recorded, before the answer',
        holds: 'a repeat gets the recorded success',
      },
      {
        id: 'P8',
        fault: 'event loop blocked for seconds',
        holds:
          'alive again afterwards; an order that was to be sent more than 100 ms ago is not sent, and is 503 not_processed',
      },
      {
        id: 'P9',
        fault: 'stopped for a minute, then continued',
        holds: 'whoever lost the lease records success only, and sends nothing',
      },
      {
        id: 'P10',
        fault: 'heap, or memory of any kind, nearly full',
        holds: '503 overloaded for new work, health stays up, what is in flight finishes',
      },
      {
        id: 'P11',
        fault: 'out of memory',
        holds: 'as when killed: a new process serves at once',
      },
      {
        id: 'P12',
        fault: 'an unhandled rejection or exception',
        holds: 'a log line without values, not ready, what is in flight finishes, exit 1',
      },
      { id: 'P13', fault: 'out of file descriptors', holds: 'recovers' },
      { id: 'P14', fault: 'the log cannot be written', holds: 'requests go on' },
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
    ],
  },
  {
    title: 'Clients',
    rows: [
      {
        id: 'K1',
        fault: 'a body of 10 MiB, with and without its length',
        holds: '413, which reaches a client that is still sending; the connection ends, memory stays flat',
      },
      { id: 'K2', fault: '10,000 levels of nesting', holds: '400, from 32 levels on' },
      { id: 'K3', fault: '300,000 keys', holds: '413 by the size of the body, or 400 by their number' },
      { id: 'K4', fault: 'a body of another type, charset or coding, or of none', holds: '415' },
      { id: 'K5', fault: 'bytes that are not UTF-8, half a surrogate pair', holds: '400' },
      {
        id: 'K6',
        fault: 'control, bidirectional and zero-width characters',
        holds: '400; names are brought to normal form C',
      },
      {
        id: 'K7',
        fault: 'fields and parameters that are unknown or missing, a body where there is none',
        holds: '400 with a pointer or name for each',
      },
      {
        id: 'K8',
        fault: 'values of another type, beyond their range, or not possible',
        holds: '400; nothing is converted',
      },
      { id: 'K9', fault: 'keys that reach a prototype, keys given twice', holds: '400' },
      { id: 'K10', fault: 'headers named like parts of objects', holds: 'a normal answer' },
      { id: 'K11', fault: 'path ids that would lead to another path', holds: '400, nothing is sent' },
      { id: 'K12', fault: 'a route in another spelling', holds: 'without credentials never a handler' },
      { id: 'K13', fault: 'line breaks in headers, ids and queries', holds: '400, nothing is sent' },
      { id: 'K14', fault: 'parameters repeated, or in brackets', holds: '400' },
      { id: 'K15', fault: 'page sizes of nothing, less, or everything', holds: '400' },
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
      { id: 'K18', fault: 'headers that do not come to an end', holds: 'closed within 6 s' },
      { id: 'K19', fault: 'a body that does not come to an end', holds: 'closed within 11 s' },
      {
        id: 'K20',
        fault: 'an answer that is not read',
        holds: 'closed within 30 s; who waits for an answer may wait',
      },
      {
        id: 'K21',
        fault: 'more connections than there is room for',
        holds:
          'those that have been idle for longest make room, first those of clients without a key: every new one is served',
      },
      { id: 'K22', fault: 'a caller hangs up on a read', holds: 'the call to the platform ends' },
      {
        id: 'K23',
        fault: 'a caller hangs up on an order or another write',
        holds: 'it is carried out and recorded, once',
      },
      {
        id: 'K24',
        fault: 'bytes that are not quite HTTP, requests hidden in others',
        holds: '400 and the end of the connection, nothing is sent; an order before them gets its own answer',
      },
      { id: 'K25', fault: 'a header of 20 kB, 2,000 headers, a URL of 16 kB', holds: '431, 431, 414' },
      {
        id: 'K26',
        fault: 'methods that a path does not have',
        holds: '405 with Allow; 404 where there is no path',
      },
      { id: 'K27', fault: 'an Accept header that refuses JSON', holds: '406' },
      {
        id: 'K28',
        fault: 'forged X-Forwarded headers and request ids',
        holds: 'believed by nobody; another id is made',
      },
      {
        id: 'K29',
        fault: 'no key, a wrong one, one that was withdrawn',
        holds: '401, and no hint which of them',
      },
      { id: 'K30', fault: "another's enterprise or channel", holds: '403 before anything is sent' },
      { id: 'K31', fault: 'a flood from one caller', holds: '429 for that one alone' },
      {
        id: 'K32',
        fault: 'one order submitted 200 times at once',
        holds: 'one call to the platform; the others 409 or the stored answer',
      },
      { id: 'K33', fault: 'an order number used for another order', holds: '422 idempotency-key-reused' },
      { id: 'K34', fault: 'an order number under another Idempotency-Key', holds: 'the same order' },
      { id: 'K35', fault: 'text that makes patterns slow', holds: 'refused within milliseconds' },
      { id: 'K36', fault: 'a password in a query', holds: '400, and in no log line' },
      {
        id: 'K37',
        fault: 'pages of orders out of a store of a million',
        holds:
          'the work for a page is bounded, whatever the filters and grants; only orders whose channel and enterprises are granted; it ends when the caller hangs up',
      },
      {
        id: 'K38',
        fault: 'a crowd of clients without a key that send bodies',
        holds: '401 by the headers alone, and the connection ends; memory stays flat',
      },
      {
        id: 'K39',
        fault: 'a caller that has more bodies under way than its share of the memory',
        holds: '503 overloaded before they are read, for that caller alone; every byte is given back',
      },
      {
        id: 'K40',
        fault: 'a flood of requests for what is public',
        holds: 'known callers are served first; health is served; the bytes are made once',
      },
      {
        id: 'K41',
        fault: 'a caller sends wrong requests with a new Idempotency-Key each, or very many good ones',
        holds:
          'what is wrong, or names what is not granted or not there, never reaches the store, and is told so also while it is full; a write that changed nothing leaves no record; beyond 10,000 records of a caller its further writes with a key are 429; orders and other callers are served',
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
        fault: 'an encryption key is taken away under which orders are sealed',
        holds:
          'the start is refused, with their number, while one of them is not settled; of settled ones a repeat gets 503, not retryable, with a log line and a metric',
      },
      {
        id: 'O3',
        fault: 'an API key is replaced',
        holds: 'both count while both stand in the file; the old one is 401 as soon as it does not',
      },
      {
        id: 'O4',
        fault: 'a client certificate is replaced',
        holds: 'no connection is dropped',
        notHere: 'there are none: the platform knows its applications by key and secret',
      },
      { id: 'O5', fault: 'whoever takes the log is down', holds: 'no effect' },
      { id: 'O6', fault: 'anybody asks for the documentation in production', holds: '404' },
      {
        id: 'O7',
        fault: 'an order that was settled as not placed turns up',
        holds: 'people are told; what the operator said and what was found are both kept',
      },
      {
        id: 'O8',
        fault: 'another platform, on the same Redis',
        holds: 'shares no token, session, read or order',
      },
      {
        id: 'O9',
        fault: "the application's key is replaced, the gateway's or a caller's own",
        holds: 'an order that was placed before is the same order: a repeat is answered from its record',
      },
      {
        id: 'O10',
        fault: 'another encryption key under an id that the order store knows',
        holds: 'the start is refused, and the id is named',
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
          'three sentences for three faults: the path, then line and column, or the field and the name of its entry; no value of the file',
      },
      {
        id: 'G2',
        fault: 'NODE_TLS_REJECT_UNAUTHORIZED=0 switches the check of certificates off',
        holds:
          'the gateway does not start with it, and every connection (platform, tokens, keys of the issuer, Redis) checks all the same',
      },
      {
        id: 'G3',
        fault: 'tokens with made-up key ids, while the issuer rotates its keys',
        holds:
          'made-up ids have a small budget of requests of their own; a new key of the issuer counts within 5 seconds',
      },
      {
        id: 'G4',
        fault: 'the issuer publishes an empty set of keys',
        holds: 'known keys go on for 15 minutes, and the log says so',
      },
      {
        id: 'G5',
        fault: 'the clock of a replica is hours ahead or behind',
        holds: 'sessions live and end by the clock of Redis alone',
      },
      {
        id: 'G6',
        fault: "the platform's words to a caller quote a secret of the gateway, plain or encoded",
        holds:
          'every known secret is masked, as in the log: configuration, tokens, passwords on their way, in their encoded forms',
      },
      {
        id: 'G7',
        fault: 'an image is replaced under its tag, or a container is taken over',
        holds:
          'images by digest; no root, no capabilities, read-only, with limits; only what people call is published, on the loopback address',
      },
      {
        id: 'G8',
        fault: 'npm run compose-secrets is run again',
        holds:
          'nothing is replaced without --force, and what that would lose is told; files are for their owner alone',
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
    ],
  },
  {
    title: 'Security',
    heads: ['risk', 'control'],
    rows: [
      {
        id: 'S1',
        fault:
          "a caller uses the gateway's tokens on an enterprise, channel or user that is not its own, or on a thing of another enterprise by its id",
        holds:
          'denied by default: an enterprise, channel or user that is not granted is 403, and the platform is not called; every other id is looked up in the enterprise that is named, and one of another enterprise is answered as one that does not exist; both once more on what would be sent. A field with an id and without a rule fails a test',
      },
      {
        id: 'S2',
        fault: 'orders placed twice, or deleted too widely',
        holds:
          'at most one call an order whatever dies, `allOrders` spelled out, scopes of their own for revoking and settling',
      },
      {
        id: 'S3',
        fault: 'secrets in logs, problems, Redis or the last words of a process',
        holds:
          'fields are chosen one by one, failures are told by kind and place, known secrets are masked in every free text; each run of the tests is searched for its own secrets',
      },
      {
        id: 'S4',
        fault: 'an id escapes into another path of the platform',
        holds: 'a pattern for ids, and every built path is held against its template',
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
        fault: "employees' passwords on their way through",
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
          'poisoned JSON is refused from callers and dropped from the platform; what is sent is the same even where it happened',
      },
      {
        id: 'S10',
        fault: 'forged callers',
        holds:
          'keys of 256 bits, compared in constant time by their hashes; JWTs by pinned issuer, audience, algorithms and key set; all else is 401',
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
        fault: "the platform's answers are trusted",
        holds: 'they are typed, bounded and mapped field by field',
        notHere: 'the rows C1 to C28 are the tests',
      },
      {
        id: 'S14',
        fault: 'errors tell too much',
        holds:
          "one filter; no stack, no host name, and of the platform's words only what is meant for people, with our names and pointers for its fields",
      },
      {
        id: 'S15',
        fault: 'a check that fails open',
        holds: 'a fault in authentication, guard or validation denies: the platform is not called',
      },
      {
        id: 'S16',
        fault: 'documentation and metrics in the open',
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
        holds: 'exact versions, hashes in the lock file, an audit where the registry answers one',
      },
      {
        id: 'S19',
        fault: 'writes without a trail',
        holds: 'one line for each: who, for whom, what, on what, with what outcome; nobody forges one',
      },
    ],
  },
];

/** Why a row is not tested, or undefined where it is. */
export function reasonOf(row: CatalogueRow): string | undefined {
  return 'notHere' in row ? row.notHere : undefined;
}

/** docs/faults.md. */
export function faultsPage(): string {
  const parts = sections.map(({ title, heads: [first, second] = ['fault', 'what must hold'], rows }) =>
    [`## ${title}`, '', `| row | ${first} | ${second} |`, '| --- | --- | --- |', ...rows.map(line)].join(
      '\n',
    ),
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
