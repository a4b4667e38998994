import { defaultOutcome, type ProblemDefinition } from './definition.ts';

/** The gateway's own problems: requests it refuses itself, and its own failures. */
export const gatewayProblems = {
  'validation-failed': {
    ...defaultOutcome,
    statuses: [400],
    title: 'The request is not valid',
    meaning:
      'The body, a query parameter, a path segment or a header breaks a rule. Nothing was sent upstream.',
    remedy:
      'Every fault stands in `errors` with a JSON pointer or a parameter name. Correct them all and send again.',
  },
  unauthenticated: {
    ...defaultOutcome,
    statuses: [401],
    title: 'No valid credentials',
    meaning: 'The request carries no API key and no token, one that does not count here, or both.',
    remedy:
      'Send the key in the header `X-Api-Key`, or a token in `Authorization: Bearer`. A key that was rotated out no longer counts, a token only until it expires.',
  },
  'user-required': {
    ...defaultOutcome,
    statuses: [401],
    title: 'No acting user',
    meaning: 'The operation acts on the platform as a logged-in user, and the request names none.',
    remedy: 'Send `X-Acting-User` or `X-Session-Id`, or have an alias `default` configured.',
  },
  'session-expired': {
    ...defaultOutcome,
    statuses: [401],
    title: 'The session has ended',
    meaning: 'The session is unknown, was ended, or can no longer be renewed on the platform.',
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
      'The caller is known, but lacks the scope of the operation or names an enterprise, channel or user that is not its own.',
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
      'The gateway has no record of an order under this channel code and order number, or the enterprise that is named has no licence order of this id.',
    remedy: 'Compare the ids with what was sent or answered: they are matched byte by byte.',
  },
  'customer-not-found': {
    ...defaultOutcome,
    statuses: [404],
    title: 'No such customer',
    meaning:
      'The enterprise that is named has no customer of this id, or none under this number of the channel.',
    remedy: 'Take the id from `findCustomers`, or from the assets of the enterprise.',
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
    meaning: 'The `Accept` header refuses JSON.',
    remedy: 'Accept `application/json` and `application/problem+json`, or leave the header out.',
  },
  'request-in-progress': {
    statuses: [409],
    outcome: 'unknown',
    retryable: true,
    title: 'The same write is running now',
    meaning: 'A request with the same order number or idempotency key has not ended yet.',
    remedy: 'Send the same request again after `Retry-After`: it is answered with the result of the first.',
  },
  'idempotency-key-reused': {
    ...defaultOutcome,
    statuses: [422],
    title: 'The key was used for another request',
    meaning: 'The order number or idempotency key belongs to a request with another payload, which stands.',
    remedy: 'Send the first payload to get its result, or use a new number for a new request.',
  },
  'too-many-requests': {
    ...defaultOutcome,
    statuses: [429],
    retryable: true,
    title: 'Too many requests',
    meaning:
      "The caller's limit of requests in its window of time is used up, or it has too many requests without an answer.",
    remedy: 'Wait for the time in `Retry-After`. `RateLimit` tells before what is left, and for how long.',
  },
  'payload-too-large': {
    ...defaultOutcome,
    statuses: [413],
    title: 'The body is too large',
    meaning: 'A body may have at most 1 MiB.',
    remedy: 'Send less in one request.',
  },
  'uri-too-long': {
    ...defaultOutcome,
    statuses: [414],
    title: 'The URL is too long',
    meaning: 'The path and query are longer than accepted.',
    remedy: 'Shorten the query.',
  },
  'unsupported-media-type': {
    ...defaultOutcome,
    statuses: [415],
    title: 'The body is not JSON',
    meaning: 'A body is accepted as `application/json` in UTF-8 only.',
    remedy: 'Send `Content-Type: application/json`.',
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
    meaning: 'A fault of the gateway itself. Its log has the cause under the request id.',
    remedy: 'Report the `requestId`. After a write, look at what is there before sending it again.',
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
    meaning: 'The gateway has more work than it can do in time and refused this request at once.',
    remedy: 'Send the same request again later.',
  },
} as const satisfies Record<string, ProblemDefinition>;
