import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';

/** A control group of Linux that bounds the memory of the processes in it, as a container does. */
export interface Container {
  /** A process that writes its number here is in the container, with all that it starts. */
  readonly door: string;
  readonly remove: () => void;
}

const V1 = '/sys/fs/cgroup/memory';
const V2 = '/sys/fs/cgroup';
const base = existsSync(`${V1}/memory.limit_in_bytes`) ? V1 : V2;

/** Whether this user may make one. */
export const hasContainers = ((): boolean => {
  try {
    newContainer(512).remove();
    return true;
  } catch {
    return false;
  }
})();

export function newContainer(mebibytes: number): Container {
  const folder = `${base}/bench-${randomUUID()}`;
  mkdirSync(folder);
  const limit = `${folder}/${base === V1 ? 'memory.limit_in_bytes' : 'memory.max'}`;
  if (!existsSync(limit)) {
    rmdirSync(folder);
    throw new Error('this machine does not bound the memory of control groups');
  }
  writeFileSync(limit, String(mebibytes * 1_024 * 1_024));
  const door = `${folder}/cgroup.procs`;
  return {
    door,
    remove: () => {
      // The last process may have ended a moment ago.
      while (readFileSync(door, 'utf8') !== '')
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
      rmdirSync(folder);
    },
  };
}
