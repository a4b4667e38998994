/** What the call rejects with. */
export function failure(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    (value) => new Error(`It did not fail: ${JSON.stringify(value)}`),
    (reason: unknown) => reason,
  );
}
