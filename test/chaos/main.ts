import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import { optionOf, play, playVariants, type Report } from './engine.ts';
import { stories } from './stories.ts';

/**
 * `npm run chaos`, `chaos:imports`, `chaos:client`, `fuzz` or `night`, with `-- [--seed s] [--act part of a name]…
 * [--variant name | --variants]` and the sizes of the story, such as `--orders 500`. Exits with 1 on a fault; with `--variants`, which
 * plays each deliberate bug, where one is not found. Needs the build and a redis-server.
 */
const say = (text: string) => process.stdout.write(`${text}\n`);
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
const acts = Object.keys(story.acts);
const isUnknown = (part: string) => !acts.some((act) => act.includes(part));
if ((values.act ?? []).some(isUnknown) || !((values.variant ?? '') in { ...story.variants, '': true })) {
  say(`--act is one of ${acts.join(', ')}`);
  say(`--variant is one of ${Object.keys(story.variants).join(', ')}`);
  process.exit(2);
}
const given = values as Readonly<Record<string, unknown>>;
const sizes = Object.fromEntries(
  Object.entries(long).map(([size, value]) => [size, Number(given[optionOf(size)] ?? value)]),
) as never;
const show = ({ faults, text }: Report, isRight: (count: number) => boolean) => {
  say(text);
  if (!isRight(faults.length)) process.exitCode = 1;
};
if (values.variants)
  for (const run of playVariants(story, sizes).values()) show(await run, (count) => count > 0);
else show(await play(story, sizes, { variant: values.variant, only: values.act }), (count) => count === 0);
