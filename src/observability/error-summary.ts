/** Names of classes. A name that was made of data does not match. */
const KIND = /^[A-Za-z]{1,60}$/;

/** What is logged about an unexpected failure: its class and its stack, never its message, which may quote data. */
export function errorSummary(error: unknown): { error: string; stack: string } {
  if (!(error instanceof Error)) return { error: typeof error, stack: '' };
  const { name, message, stack } = error;
  const text = String(stack);
  // The frames begin after the message, whose lines may look like frames.
  const start = message === '' ? 0 : text.indexOf(message) + message.length;
  const frames = text
    .slice(start)
    .split('\n')
    .filter((line) => line.startsWith('    at '));
  return { error: KIND.test(name) ? name : 'Error', stack: frames.join('\n') };
}
