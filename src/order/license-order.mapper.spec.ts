import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseJson } from '../shared/json.ts';
import { IncompleteResponse } from '../upstream/upstream-failure.ts';
import type { PlaceOrderDto } from './dto/license-order.dto.ts';
import { toBatchOrder, toPlacedItems } from './license-order.mapper.ts';

describe('an order on the wire', () => {
  it('cuts fractions of a second off where the platform counts in seconds, also before 1970', () => {
    const wire = (startsAt: string) =>
      toBatchOrder({ items: [{ customer: {}, assets: [{ startsAt }] }] } as unknown as PlaceOrderDto, {
        unit: 's',
        featureTrialEnd: undefined,
      }).orderList[0]?.assets[0]?.limitStartDate;
    expect(wire('2026-11-20T08:00:00.999Z')).toBe(1_795_161_600);
    expect(wire('1969-12-31T23:59:59.999Z')).toBe(-1);
  });
});

describe('the results of a batch', () => {
  const sent = (...sequences: number[]) =>
    ({ orderList: sequences.map((sequence) => ({ sequence })) }) as Parameters<typeof toPlacedItems>[1];
  const results = (json: string) => parseJson(Buffer.from(json), { maxDepth: 8 });
  const result = (sequence: unknown, id = 'lic') =>
    `{"sequence":${String(sequence)},"licenseOrderId":"${id}-${String(sequence)}","customerId":"cus"}`;

  it('are matched by sequence in any order, and come in that of the request', () => {
    const sequences = fc.uniqueArray(fc.nat(1_000_000), { minLength: 1, maxLength: 30 });
    const shuffled = sequences.chain((requested) =>
      fc.tuple(fc.constant(requested), fc.shuffledSubarray(requested, { minLength: requested.length })),
    );
    fc.assert(
      fc.property(shuffled, ([requested, returned]) => {
        const data = results(`[${returned.map((sequence) => result(sequence)).join()}]`);
        expect(toPlacedItems(data, sent(...requested)).map(({ licenseOrderId }) => licenseOrderId)).toEqual(
          requested.map((sequence) => `lic-${sequence}`),
        );
      }),
    );
  });

  it('keep ids exact that upstream sends as numbers, and a customer that is null or absent', () => {
    const exact = results(
      '[{"sequence":1,"licenseOrderId":9007199254740993,"customerId":12345678901234567}]',
    );
    expect(toPlacedItems(exact, sent(1))).toEqual([
      { sequence: 1, licenseOrderId: '9007199254740993', customerId: '12345678901234567' },
    ]);
    expect(
      toPlacedItems(results('[{"sequence":1,"licenseOrderId":"a","customerId":null}]'), sent(1)),
    ).toEqual([{ sequence: 1, licenseOrderId: 'a', customerId: null }]);
    expect(
      toPlacedItems(results('[{"sequence":1,"licenseOrderId":"a"}]'), sent(1))[0]?.customerId,
    ).toBeNull();
  });

  it.each<[string, string, number[]?]>([
    ['no results', '[]', []],
    ['one too few', `[${result(1)}]`],
    ['one too many', `[${result(1)},${result(2)},${result(3)}]`, [1, 2]],
    ['a foreign one for a missing one', `[${result(1)},${result(3)}]`],
    ['one twice for a missing one', `[${result(1)},${result(1, 'other')}]`, []],
    ['one twice', `[${result(1)},${result(2)},${result(2, 'other')}]`],
    ['null for one', `[${result(1)},null]`],
    ['a sequence as text', `[${result(1)},${result('"2"').replace('-"2"', '')}]`],
    ['a sequence with a fraction', `[${result(1)},${result('2.0')}]`],
    ['no sequence', `[${result(1)},{"licenseOrderId":"a"}]`],
    ['an empty licence order', `[${result(1)},{"sequence":2,"licenseOrderId":""}]`],
  ])('are incomplete where there is %s, and what matches is kept', (_, json, kept = [1]) => {
    let thrown: unknown;
    try {
      toPlacedItems(results(json), sent(1, 2));
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(IncompleteResponse);
    const matched = kept.map((sequence) => ({
      sequence,
      licenseOrderId: expect.stringMatching(/^(lic-1|lic-2|a)$/),
      customerId: 'cus',
    }));
    expect((thrown as IncompleteResponse).matched).toEqual(matched);
  });

  it('may be missing where the order is async, and not in part', () => {
    const order = { ...sent(1, 2), syncMode: 'async' as const };
    for (const json of ['null', '[]']) expect(toPlacedItems(results(json), order)).toEqual([]);
    expect(toPlacedItems(undefined, order)).toEqual([]);
    expect(() => toPlacedItems(results(`[${result(1)}]`), order)).toThrow(IncompleteResponse);
    const withoutId = `[${result(1)},{"sequence":2,"licenseOrderId":null}]`;
    expect(toPlacedItems(results(withoutId), order)).toMatchObject([{ sequence: 1 }]);
  });

  it('may lack the ids that the platform is known not to give', () => {
    const batch = sent(1, 2);
    const order = { ...batch, orderList: batch.orderList.map((item) => ({ ...item, orderType: 'new_buy' })) };
    const deleting = {
      ...order,
      orderList: order.orderList.map((item) => ({ ...item, orderType: 'delete_asset' })),
    };
    const unnamed = '[{"sequence":1,"licenseOrderId":null},{"sequence":2}]';
    for (const json of ['null', '[]', unnamed]) {
      expect(toPlacedItems(results(json), deleting, 'purchases')).toEqual([]);
      expect(toPlacedItems(results(json), order, 'later')).toEqual([]);
      expect(() => toPlacedItems(results(json), order, 'purchases')).toThrow(IncompleteResponse);
      for (const reading of [undefined, 'always'] as const)
        expect(() => toPlacedItems(results(json), deleting, reading)).toThrow(IncompleteResponse);
    }
    for (const json of ['{}', '[1]', `[${result(3)}]`, `[${result(1)},${result(1)}]`])
      expect(() => toPlacedItems(results(json), deleting, 'later')).toThrow(IncompleteResponse);
  });
});
