import { Transform } from 'class-transformer';
import { rule, type Test } from './rules.ts';

const isObject = (value: unknown) => typeof value === 'object' && value !== null;

/** Items whose value stood in an earlier item of their list: found when the list is read, told by {@link Unrepeated}. */
const repeats = new WeakSet<object>();

/** A list whose items differ in `field`, which carries {@link Unrepeated}: the fault then points to the second of two. */
export function DifferentBy(field: string): PropertyDecorator {
  return Transform(({ value }) => {
    if (!Array.isArray(value)) return value as unknown;
    const seen = new Set<unknown>();
    for (const item of (value as unknown[]).filter(isObject) as Record<string, unknown>[]) {
      if (seen.has(item[field])) repeats.add(item);
      seen.add(item[field]);
    }
    return value as unknown;
  });
}

export function Unrepeated(): PropertyDecorator {
  const test: Test = (value, item) => value === undefined || !repeats.has(item);
  return rule('unrepeated', test, 'must not be given twice');
}
