import { describe, expect, it } from '@jest/globals';
import { traceContext, traceHeaders } from './tracing.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const SPAN = '00f067aa0ba902b7';
const PARENT = `00-${TRACE}-${SPAN}-01`;

describe("the caller's trace", () => {
  it('goes on with its id, span and flag', () => {
    expect(traceContext({ traceparent: PARENT })).toEqual({ traceId: TRACE, spanId: SPAN, flags: '01' });
    const both = { traceparent: PARENT, tracestate: 'rojo=00f067aa0ba902b7,congo@vendor=t61rcWkgMzE' };
    for (const headers of [{ traceparent: PARENT }, both])
      expect(traceHeaders(traceContext(headers))).toEqual(headers);
  });

  it.each([
    ['a key in capitals', 'Rojo=1'],
    ['letters beyond ASCII', 'rojo=ä'],
    ['more than 512 characters', `rojo=${'x'.repeat(250)},congo=${'x'.repeat(250)},third=${'x'.repeat(20)}`],
    ['more than 32 members', Array.from({ length: 33 }, (_, index) => `k${index}=1`).join(',')],
    ['nothing', ''],
  ])('goes on without a state that has %s', (_, tracestate) => {
    expect(traceHeaders(traceContext({ traceparent: PARENT, tracestate }))).toEqual({ traceparent: PARENT });
  });

  it('of a later version is read as far as it is known', () => {
    const { flags, traceId } = traceContext({ traceparent: `cc-${TRACE}-${SPAN}-ff-more` });
    expect([flags, traceId]).toEqual(['01', TRACE]);
  });

  it.each([
    ['has capitals', PARENT.toUpperCase()],
    ['is of the version ff', `ff-${TRACE}-${SPAN}-01`],
    ['has another part', `${PARENT}-more`],
    ['has a span of zeros', `00-${TRACE}-${'0'.repeat(16)}-01`],
    ['stands twice', `${PARENT}, ${PARENT}`],
  ])('begins anew where it %s', (_, traceparent) => {
    const { traceId, state } = traceContext({ traceparent, tracestate: 'rojo=1' });
    expect(traceId).not.toBe(TRACE);
    expect(traceHeaders(traceContext({ traceparent }))['traceparent']).toMatch(
      /^00-[\da-f]{32}-[\da-f]{16}-00$/,
    );
    expect(state).toBeUndefined();
  });
});
