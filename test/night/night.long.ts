import { expect, it } from '@jest/globals';
import { playNight } from './run.ts';
import { scenes } from './scenes.ts';

it.each(scenes.map((scene) => [scene.name, scene] as const))(
  'An operator is led through the night in which %s',
  async (_, scene) => {
    // Only root may mount the volume that one scene fills.
    expect((await playNight(scene)) ?? []).toEqual([]);
  },
);
