/**
 * Returns the body of a response that is still arriving. It rejects with the reason of the signal, or with what `lostBy` makes of the error
 * if the connection is lost before the end.
 */
export function streamOf(
  body: ReadableStream<Uint8Array>,
  signal: AbortSignal | undefined,
  lostBy: (error: unknown) => unknown,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const stream = new ReadableStream<Uint8Array>(
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
  return signal ? stream.pipeThrough(new TransformStream(), { signal }) : stream;
}
