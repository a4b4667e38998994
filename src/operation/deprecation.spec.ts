import { describe, expect, it } from '@jest/globals';
import { deprecationHeaders, deprecationText } from './deprecation.ts';

describe('a deprecated operation', () => {
  it('says since when, and until when, in the forms of RFC 9745 and RFC 8594', () => {
    expect(deprecationHeaders({ since: '2026-12-01' })).toEqual({ deprecation: '@1796083200' });
    expect(deprecationHeaders({ since: '2026-12-01', sunset: '2027-06-01' })).toEqual({
      deprecation: '@1796083200',
      sunset: 'Tue, 01 Jun 2027 00:00:00 GMT',
    });
  });

  it('says it in words', () => {
    expect(deprecationText({ since: '2026-12-01' })).toBe('**Deprecated** from 2026-12-01 on.');
    expect(deprecationText({ since: '2026-12-01', sunset: '2027-06-01', instead: 'listOrders' })).toBe(
      '**Deprecated** from 2026-12-01 on, and may be gone from 2027-06-01 on. Use `listOrders` instead.',
    );
  });

  it('is refused with a day that does not exist, or with an end before its beginning', () => {
    for (const since of ['2026-02-30', '2026-13-01', '2026-1-1'] as const)
      expect(() => deprecationHeaders({ since })).toThrow(`${since} is no day`);
    expect(() => deprecationHeaders({ since: '2026-12-01', sunset: '2026-11-30' })).toThrow('comes before');
  });
});
