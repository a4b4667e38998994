import { expect } from '@jest/globals';

/** Resolves to the text of a response that is broken off. Fails if the response comes to its end. */
export async function textUntilCut(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  const reading = async () => {
    for await (const part of response.body ?? [])
      text += decoder.decode(part as Uint8Array, { stream: true });
  };
  await expect(reading()).rejects.toThrow();
  return text;
}
