import type { AxiosResponse } from 'axios';

/**
 * The exchange ended without a whole answer. `sent` is false only when provably no byte of the request left the process.
 * `too-large`: the answer exceeded its limit, and the gateway cut it off. `abandoned`: the caller has gone. `delayed`: the process
 * was busy for too long before it could send, so it must not send any more.
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
    /** The result of an exchange after its deadline, where it must not be lost: an answer, or another TransportError. */
    readonly late?: Promise<AxiosResponse<Buffer>>,
  ) {
    super(kind, { cause });
  }
}
