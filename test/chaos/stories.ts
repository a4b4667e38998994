import { fuzz } from '../fuzz/story.ts';
import { night } from '../night/story.ts';
import { client } from './client/story.ts';
import type { Story } from './engine.ts';
import { imports } from './imports/story.ts';
import { orders } from './orders/story.ts';

/** The stories by the names that the command line has for them. */
export const stories = { orders, imports, client, fuzz, night } as unknown as Readonly<
  Record<string, Story<never, never>>
>;
