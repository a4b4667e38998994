import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { client } from './client/story.ts';
import { optionOf, play, playVariants, type Story } from './engine.ts';
import { imports } from './imports/story.ts';
import { orders } from './orders/story.ts';

/**
 * `npm run chaos`, `chaos:imports` or `chaos:client`, with `-- [--seed s] [--act name]… [--variant name | --variants]` and the sizes of
 * the story, such as `--orders 500`. Exits with 1 on a fault; with `--variants`, which plays each deliberate bug, where one is not
 * found. Needs the build and a redis-server.
 */
const say = (text: string) => process.stdout.write(`${text}\n`);
const stories = { orders, imports, client } as unknown as Readonly<Record<string, Story<never, never>>>;
const [name = '', ...args] = process.argv.slice(2);
const story = stories[name];
if (!story) throw new Error(`the story is one of ${Object.keys(stories).join(', ')}`);
const long: Readonly<Record<string, number>> = { ...story.sizes, seed: randomInt(2 ** 31) };
const numbers = Object.keys(long).map((size) => [optionOf(size), { type: 'string' as const }] as const);
const { values } = parseArgs({
  args,
  options: {
    ...(Object.fromEntries(numbers) as Record<string, { type: 'string' }>),
    act: { type: 'string', multiple: true },
    variant: { type: 'string' },
    variants: { type: 'boolean', default: false },
  },
});
const unknown = [
  ...(values.act ?? []).filter((act) => !(act in story.acts)),
  ...(values.variant === undefined || values.variant in story.variants ? [] : [values.variant]),
];
if (unknown.length > 0) {
  say(`--act is one of ${Object.keys(story.acts).join(', ')}`);
  say(`--variant is one of ${Object.keys(story.variants).join(', ')}`);
  process.exit(2);
}
const given = values as Readonly<Record<string, unknown>>;
const sizes = Object.fromEntries(
  Object.entries(long).map(([size, value]) => [size, Number(given[optionOf(size)] ?? value)]),
) as never;
if (values.variants) {
  for (const run of playVariants(story, sizes).values()) {
    const { faults, text } = await run;
    say(text);
    if (faults.length === 0) process.exitCode = 1;
  }
} else {
  const { faults, text } = await play(story, sizes, {
    variant: values.variant,
    only: values.act,
  });
  say(text);
  if (faults.length > 0) process.exitCode = 1;
}
