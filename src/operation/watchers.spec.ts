import { describe, expect, it } from '@jest/globals';
import { type Look, Watchers } from './watchers.ts';

describe('a stream', () => {
  it('sends comments also while one search after the other finds nothing and expects more', async () => {
    const looks: Look[] = [
      { next: 'again' },
      { texts: ['one'], next: 'again' },
      { next: 'again' },
      { next: 'end' },
    ];
    const look = () => Promise.resolve(looks.shift() ?? {});
    const pace = { pauseMs: 0, quietMs: -1, comment: () => `: ${looks.length} left` };
    const sent: string[] = [];
    for await (const text of new Watchers().follow(look, pace)) sent.push(text);
    expect(sent).toEqual([': 3 left', 'one', ': 2 left', ': 1 left']);
  });
});
