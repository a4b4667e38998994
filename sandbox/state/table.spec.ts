import { describe, expect, it } from '@jest/globals';
import { Table, UndoLog } from './table.ts';

interface Row {
  readonly id: string;
  readonly owner: string | null;
}

function table(): { undo: UndoLog; rows: Table<Row, 'owner'> } {
  const undo = new UndoLog();
  return { undo, rows: new Table<Row, 'owner'>(undo, (row) => row.id, { owner: (row) => row.owner }) };
}

describe('a table', () => {
  it('is unchanged when a transaction throws, indexes and order included', () => {
    const { undo, rows } = table();
    rows.put({ id: '1', owner: 'a' });
    rows.put({ id: '2', owner: 'b' });
    const failing = (): void => {
      rows.change('1', { owner: 'b' });
      rows.put({ id: '3', owner: 'b' });
      throw new Error('refused');
    };
    expect(() => undo.run(failing, true)).toThrow('refused');
    expect(rows.all()).toEqual([
      { id: '1', owner: 'a' },
      { id: '2', owner: 'b' },
    ]);
    expect(rows.by('owner', 'a')).toEqual([{ id: '1', owner: 'a' }]);
    expect(rows.by('owner', 'b')).toEqual([{ id: '2', owner: 'b' }]);
  });

  it('returns the rows of an index in order of insertion, after any changes in between', () => {
    const { undo, rows } = table();
    for (const id of ['1', '2', '3', '4']) rows.put({ id, owner: id === '2' ? 'b' : 'a' });
    undo.run(() => rows.change('1', { owner: null }), false);
    expect(rows.by('owner', 'b')).toEqual([{ id: '2', owner: 'b' }]);
    rows.change('2', { owner: 'a' });
    expect(rows.by('owner', 'b')).toEqual([]);
    rows.put({ id: '5', owner: 'a' });
    expect(rows.by('owner', 'a').map(({ id }) => id)).toEqual(['1', '2', '3', '4', '5']);
  });

  it('returns the result of a transaction that is not kept, and keeps no change', () => {
    const { undo, rows } = table();
    expect(undo.run(() => rows.put({ id: '1', owner: 'a' }), false)).toEqual({
      result: { id: '1', owner: 'a' },
      changed: false,
    });
    expect(rows.all()).toEqual([]);
    expect(undo.run(() => rows.put({ id: '1', owner: 'a' }), true).changed).toBe(true);
    expect(rows.all()).toHaveLength(1);
  });
});
