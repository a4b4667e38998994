import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';

/** A control group with a limit of memory, for one process. */
export interface MemoryLimit {
  /** A process that writes its id here joins the group. */
  readonly procs: string;
  /** After its process has ended. */
  remove(): void;
}

/** Undefined where this process may not make one: that needs root, and a hierarchy of Linux that is open for writing. */
export function memoryLimit(bytes: number): MemoryLimit | undefined {
  let own: string;
  try {
    own = readFileSync('/proc/self/cgroup', 'utf8');
  } catch {
    return undefined;
  }
  const older = /^\d+:(?:[\w=]+,)*memory(?:,[\w=]+)*:(.*)$/m.exec(own)?.[1];
  const newer = /^0::(.*)$/m.exec(own)?.[1] ?? '';
  const [parent, file] =
    older === undefined
      ? [`/sys/fs/cgroup${newer}`, 'memory.max']
      : [`/sys/fs/cgroup/memory${older}`, 'memory.limit_in_bytes'];
  const folder = `${parent}/gateway-${process.pid}`;
  try {
    mkdirSync(folder);
    writeFileSync(`${folder}/${file}`, String(bytes));
  } catch {
    return undefined;
  }
  return { procs: `${folder}/cgroup.procs`, remove: () => rmdirSync(folder) };
}
