import type { Story } from '../engine.ts';
import { acts, type ImportSizes } from './acts.ts';
import { ImportStage } from './stage.ts';
import { variants } from './variants.ts';

/** Imports while gateways and their database die, and the platform fails: no member twice, every row told truly, no password left. */
export const imports: Story<ImportStage, ImportSizes> = {
  command: 'npm run chaos:imports',
  sizes: { imports: 20, rows: 1_000, processes: 3, kills: 20, databaseKills: 5 },
  set: ({ processes, seed }, { variant }) => ImportStage.set({ processes, seed, variant }),
  acts,
  variants,
};
