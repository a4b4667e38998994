/**
 * Returns the body of a response that is still arriving. It rejects with what `lostBy` makes of the error if the connection is lost before
 * its end.
 */
export function streamOf(
  body: ReadableStream<Uint8Array>,
  lostBy: (error: unknown) => unknown,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read();
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          controller.error(lostBy(error));
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}
