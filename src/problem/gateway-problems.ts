import { defaultOutcome, type ProblemDefinition } from './definition.ts';

/** The gateway's own problems: requests that it refuses itself, and its own failures. */
export const gatewayProblems = {
  'validation-failed': {
    ...defaultOutcome,
    statuses: [400],
    title: 'The request is not valid',
    meaning:
      'The body, a query parameter, a path segment or a header breaks a rule. Nothing was sent to the platform.',
    remedy:
      '`errors` lists every fault with a JSON pointer or a parameter name. Correct all of them and send the request again.',
  },
  unauthenticated: {
    ...defaultOutcome,
    statuses: [401],
    title: 'No valid credentials',
    meaning:
      'The request has no API key and no token, an invalid key or token, or a key and a token at once.',
    remedy:
      'Send the key in the header `X-Api-Key`, or a token in `Authorization: Bearer`. A removed key and an expired token are not valid any more.',
  },
  'user-required': {
    ...defaultOutcome,
    statuses: [401],
    title: 'No acting user',
    meaning: 'The operation acts on the platform as a logged-in user, and the request names none.',
    remedy: 'Send `X-Acting-User` or `X-Session-Id`, or ask the operator to configure an alias `default`.',
  },
  'session-expired': {
    ...defaultOutcome,
    statuses: [401],
    title: 'The session has ended',
    meaning: 'The session is unknown, was ended, or the platform does not renew it any more.',
    remedy: 'Open a new session.',
  },
  'login-failed': {
    ...defaultOutcome,
    statuses: [401],
    title: 'User name or password is wrong',
    meaning: 'The user center refused the credentials.',
    remedy: 'Correct them. Repeated failures may lock the account on the platform.',
  },
  forbidden: {
    ...defaultOutcome,
    statuses: [403],
    title: 'Not granted to this caller',
    meaning:
      'The caller is known, but its entry does not grant the scope of the operation, or the enterprise, channel or user that the request names.',
    remedy: "Ask the gateway's operator to extend the caller's entry.",
  },
  'not-found': {
    ...defaultOutcome,
    statuses: [404],
    title: 'No such resource',
    meaning: 'No operation has this path.',
    remedy: 'Compare the path with the OpenAPI document.',
  },
  'order-not-found': {
    ...defaultOutcome,
    statuses: [404],
    title: 'No such order',
    meaning:
      'The gateway has no record of an order under this channel code and order number, or the named enterprise has no licence order with this id.',
    remedy: 'Compare the ids with those that you sent or received: the gateway compares them byte by byte.',
  },
  'customer-not-found': {
    ...defaultOutcome,
    statuses: [404],
    title: 'No such customer',
    meaning:
      'The named enterprise has no customer with this id, or no customer with this number of the channel.',
    remedy: 'Take the id from `findCustomers`, or from the assets of the enterprise.',
  },
  'job-not-found': {
    ...defaultOutcome,
    statuses: [404],
    title: 'No such job',
    meaning: 'The gateway has no job with this id for this caller. Jobs are kept for 7 days.',
    remedy: 'Take the id from the response of the import, or from `listJobs`.',
  },
  'precondition-failed': {
    ...defaultOutcome,
    statuses: [412],
    title: 'The content is another one by now',
    meaning: '`If-Match` names another content than what is there. Nothing was sent to the platform.',
    remedy: 'Read again, look at what changed, and send with the new `ETag`.',
  },
  'method-not-allowed': {
    ...defaultOutcome,
    statuses: [405],
    title: 'The path does not have this method',
    meaning: 'The path exists, but not with this method.',
    remedy: 'Use one of the methods in the `Allow` header.',
  },
  'not-acceptable': {
    ...defaultOutcome,
    statuses: [406],
    title: 'No representation fits the Accept header',
    meaning: 'The `Accept` header refuses every type of the response.',
    remedy:
      'Accept `application/json` and `application/problem+json` (for a stream one of the types that the operation names), or leave the header out.',
  },
  'order-not-settleable': {
    ...defaultOutcome,
    statuses: [409],
    title: 'The order cannot be settled',
    meaning:
      'The order has a result already, and another one than the settlement has; or it was sent, or accepted by the platform, too short a time ago.',
    remedy:
      'Compare with what `detail` says that stands there, and with its record (`getOrder`). With `Retry-After` the same settlement is possible after that time.',
  },
  'import-in-progress': {
    ...defaultOutcome,
    statuses: [409],
    title: 'Another import of this enterprise is running',
    meaning:
      'An enterprise has one import at a time. `detail` has the id of the job that is running, `Location` its URL, and nothing of this request was sent.',
    remedy: 'Wait for that job (`watchJob`) or cancel it (`cancelJob`), then send the file again.',
  },
  'too-many-deletes': {
    ...defaultOutcome,
    statuses: [422],
    title: 'The import would delete more members than allowed',
    meaning:
      'More members of the enterprise are missing in the file than `maxDeletes` allows to delete. Nothing was sent; `detail` has the number.',
    remedy:
      'Check that the file is complete. `validateOnly=true` lists the members, and `keep` protects accounts. Then raise `maxDeletes`.',
  },
  'request-in-progress': {
    statuses: [409],
    outcome: 'unknown',
    retryable: true,
    title: 'The same write is running now',
    meaning: 'A request with the same order number or idempotency key is still running.',
    remedy:
      'Send the same request again after `Retry-After`: the response is then the result of the first request.',
  },
  'idempotency-key-reused': {
    ...defaultOutcome,
    statuses: [422],
    title: 'The key was used for another request',
    meaning:
      'The order number or idempotency key belongs to an earlier request with another payload. The earlier request stays valid.',
    remedy: 'Send the first payload to get its result, or use a new number for a new request.',
  },
  'too-many-requests': {
    ...defaultOutcome,
    statuses: [429],
    retryable: true,
    title: 'Too many requests',
    meaning:
      'The caller has sent more requests than its limit allows in the time window, or too many of its requests have no response yet.',
    remedy:
      'Wait for the time in `Retry-After`. The header `RateLimit` of each response says how many requests are left, and for how long.',
  },
  'payload-too-large': {
    ...defaultOutcome,
    statuses: [413],
    title: 'The body is too large',
    meaning:
      'A body may have at most 1 MiB; the file of an import at most 16 MiB and 50,000 rows, or what the operator has configured.',
    remedy: 'Send less in one request.',
  },
  'uri-too-long': {
    ...defaultOutcome,
    statuses: [414],
    title: 'The URL is too long',
    meaning: 'The path and query are too long.',
    remedy: 'Shorten the query.',
  },
  'unsupported-media-type': {
    ...defaultOutcome,
    statuses: [415],
    title: 'The body has another type than the operation takes',
    meaning:
      'The gateway accepts only bodies in `application/json` and UTF-8; as the file of an import `text/csv` and `application/x-ndjson`.',
    remedy: 'Send the `Content-Type` that the operation names.',
  },
  'headers-too-large': {
    ...defaultOutcome,
    statuses: [431],
    title: 'The headers are too large',
    meaning: 'A request may have at most 100 headers, and at most 18 KiB of them together with its URL.',
    remedy: 'Send fewer or shorter headers.',
  },
  'internal-error': {
    statuses: [500],
    outcome: 'unknown',
    retryable: false,
    title: 'The gateway failed',
    meaning: 'The gateway itself has a fault. Its log has the cause under the request id.',
    remedy: 'Report the `requestId`. After a write, read the current state before you send the write again.',
  },
  'dependency-unavailable': {
    statuses: [503],
    outcome: 'not_processed',
    retryable: true,
    title: 'A part that the gateway needs is not available',
    meaning:
      "The token endpoint, a store of the gateway, or the keys of the callers' issuer cannot be reached. Nothing was sent to the platform.",
    remedy: 'Send the same request again later.',
  },
  overloaded: {
    ...defaultOutcome,
    statuses: [503],
    retryable: true,
    title: 'The gateway is overloaded',
    meaning: 'The gateway has more work than it can do in time, so it refused this request at once.',
    remedy: 'Send the same request again later.',
  },
} as const satisfies Record<string, ProblemDefinition>;
