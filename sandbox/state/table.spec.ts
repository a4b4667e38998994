import { expect, it } from '@jest/globals';
import { Table, UndoLog } from './table.ts';

interface Row {
  readonly id: string;
  readonly owner: string | null;
}

it('a table returns the rows of an index in order of insertion, after any changes in between', () => {
  const undo = new UndoLog();
  const rows = new Table<Row, 'owner'>(undo, (row) => row.id, { owner: (row) => row.owner });
  for (const id of ['1', '2', '3', '4']) rows.put({ id, owner: id === '2' ? 'b' : 'a' });
  undo.run(() => rows.change('1', { owner: null }), false);
  expect(rows.by('owner', 'b')).toEqual([{ id: '2', owner: 'b' }]);
  rows.change('2', { owner: 'a' });
  expect(rows.by('owner', 'b')).toEqual([]);
  rows.put({ id: '5', owner: 'a' });
  expect(rows.by('owner', 'a').map(({ id }) => id)).toEqual(['1', '2', '3', '4', '5']);
});
