/** The events of orders and jobs have no end: of their stream the first event is enough. */
const ENDLESS = /^\/v1\/events\/stream(\?|$)/;

/** The text of a response; of a stream without an end, of which the request is then ended, its beginning. */
export async function textOf(
  path: string,
  body: AsyncIterable<Uint8Array> | null,
  type: string | null | undefined,
): Promise<string> {
  const isEndless = ENDLESS.test(path) && type === 'text/event-stream';
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (isEndless) break;
  }
  return text + decoder.decode();
}
