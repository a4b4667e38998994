import { ApiSchema } from '@nestjs/swagger';
import type { Maintenance, Stops } from './state/maintenance.ts';
import { stopWords } from './state/maintenance.ts';
import { OpenWord, Time } from '../operation/response-fields.ts';
import { OneOf, Optional, Text } from '../validation/rules.ts';
import { Timestamp } from '../validation/scalar-rules.ts';

const MAX_REASON = 200;

@ApiSchema({
  description: 'What an operator has stopped, and until when; without one everything but `active` is null',
})
export class MaintenanceDto {
  /** Whether something is stopped now. A later stop is announced by `from`. */
  active!: boolean;

  @OpenWord(stopWords, 'What is stopped')
  stops!: Stops | null;

  @Time(undefined, 'When it begins')
  from!: string | null;

  @Time(undefined, 'When it ends by itself')
  until!: string | null;

  /** The reason that callers read. */
  reason!: string | null;

  /** The caller who set the maintenance. */
  by!: string | null;
}

@ApiSchema({ description: 'What is stopped, and until when' })
export class SetMaintenanceDto {
  @OneOf(stopWords, { description: 'What is stopped' })
  stops!: Stops;

  @Optional()
  @Timestamp({ description: 'When it begins; left out: now' })
  from?: string;

  @Timestamp({ description: 'When it ends by itself: at most 7 days from now' })
  until!: string;

  @Text({ description: 'What callers are told', example: 'the platform is updated' }, { max: MAX_REASON })
  reason!: string;
}

/** Throws while it is not known whether there is a maintenance. */
export function toMaintenance(maintenance: Maintenance): MaintenanceDto {
  maintenance.assertKnown();
  const { window, isActive } = maintenance;
  const { stops = null, from, until, reason = null, by = null } = window ?? {};
  const timeOf = (at: number | undefined) => (at === undefined ? null : new Date(at).toISOString());
  return { active: isActive, stops, from: timeOf(from), until: timeOf(until), reason, by };
}
