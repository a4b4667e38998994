import { SharedRedis } from '../../src/redis/shared-redis.ts';
import { until } from './redis.ts';

/**
 * Connections for tests of what Redis keeps. The gateway gives a command up after 250 ms, which the server of a busy machine does not
 * always keep.
 */
const PATIENT_MS = 60_000;

export class PatientRedis extends SharedRedis {
  protected override get commandMs(): number {
    return PATIENT_MS;
  }
}

/** Starts the connection to a server that is there, also where that takes longer than a gateway waits at its start. */
export async function connect<T extends SharedRedis>(redis: T): Promise<T> {
  await redis.onModuleInit();
  await until('Redis is up', () => redis.status === 'up');
  return redis;
}
