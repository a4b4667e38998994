import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Exclude, Expose, Transform, Type } from 'class-transformer';
import { Allow, IsOptional, IsString, ValidateIf, ValidateNested } from 'class-validator';
import { declaredFields } from './declared-fields.ts';
import { Flag, isGiven } from './rules.ts';

/** A class whose one field has these decorators besides a rule of our own. */
function classWith(...decorators: PropertyDecorator[]): new () => object {
  class Probe {
    field?: unknown;
  }
  for (const decorate of [Flag(), ...decorators]) decorate(Probe.prototype, 'field');
  return Probe;
}

describe('the fields that a class declares', () => {
  it.each([
    ['a rule of class-validator', IsString()],
    ['a rule for each item', ValidateNested({ each: true })],
    ['a rule for a group', ValidateIf(isGiven, { groups: ['some'] })],
    ['a rule for every group', ValidateIf(isGiven, { always: true })],
    ['a condition of its own', ValidateIf(() => true)],
    ['another way of being optional', IsOptional()],
    ['a field without rules', Allow()],
    ['two kinds of nesting', (...args: [object, string]) => [1, 2].forEach(() => ValidateNested()(...args))],
    ['a conversion one way only', Transform(({ value }) => value as unknown, { toClassOnly: true })],
    [
      'a discriminator of class-transformer',
      Type(() => Object, { discriminator: { property: 'kind', subTypes: [] } }),
    ],
    ['another name outside', Expose({ name: 'other' })],
    ['a hidden field', Exclude()],
  ])('are refused rather than left out where there is %s', (_, decorator) => {
    expect(() => declaredFields(classWith(decorator as PropertyDecorator))).toThrow(
      /^Probe has .* that compiled validation does not know$/,
    );
  });

  it('are refused where nothing is declared', () => {
    class Empty {
      field?: unknown;
    }
    expect(() => declaredFields(Empty)).toThrow('Empty has no rules');
  });
});
