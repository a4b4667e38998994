import type { AxiosResponse } from 'axios';

/**
 * What the wire did instead of a whole answer. `sent` is false only when provably no byte of the request left the process.
 * `too-large` means that the answer went over its limit and was cut off by us, `abandoned` that nobody waits for it any more,
 * `delayed` that the process was busy for so long before it could send that it must not any more.
 */
export class TransportError extends Error {
  override readonly name = 'TransportError';

  constructor(
    readonly kind:
      | 'unreachable'
      | 'connect-timeout'
      | 'delayed'
      | 'timeout'
      | 'lost'
      | 'malformed'
      | 'too-large'
      | 'abandoned',
    readonly sent: boolean,
    cause?: unknown,
    /** What still comes of an exchange whose time is up, where that must not be lost: an answer, or another of these. */
    readonly late?: Promise<AxiosResponse<Buffer>>,
  ) {
    super(kind, { cause });
  }
}
