/**
 * What the wire did instead of a whole answer. `sent` is false only when provably no byte of the request left the process.
 * `too-large` means that the answer went over its limit and was cut off by us, `abandoned` that nobody waits for it any more.
 */
export class TransportError extends Error {
  override readonly name = 'TransportError';

  constructor(
    readonly kind:
      'unreachable' | 'connect-timeout' | 'timeout' | 'lost' | 'malformed' | 'too-large' | 'abandoned',
    readonly sent: boolean,
    cause?: unknown,
  ) {
    super(kind, { cause });
  }
}
