/** The texts of numbers and times in the console. */

export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`;
}

export function duration(ms: number): string {
  const minutes = ms / 60_000;
  if (minutes < 1) return `${Math.max(1, Math.round(ms / 1_000))} s`;
  if (minutes < 120) return `${Math.round(minutes)} min`;
  return minutes < 48 * 60 ? `${Math.round(minutes / 60)} h` : `${Math.round(minutes / 1_440)} days`;
}

/** Returns the time in UTC, like every time of the console. Leaves out the date of today. */
export function timeOf(ms: number, now: number): string {
  const [day = '', clock = ''] = new Date(ms).toISOString().split('T');
  const isToday = new Date(now).toISOString().startsWith(day);
  return `${isToday ? '' : `${day} `}${clock.slice(0, 5)} UTC`;
}

export function secondOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(11, 19)} UTC`;
}

const MAX_NAMED = 5;

export function named(names: readonly string[]): string {
  const more = names.length - MAX_NAMED;
  const first = names.slice(0, MAX_NAMED).join(', ');
  return more > 0 ? `${first} and ${more} more` : first;
}
