/**
 * Returns the clock of the database, from a read at which it showed `now`. It goes on with the monotonic clock of this process, whose wall
 * clock may differ from that of the database.
 */
export function clockFrom(now: number): () => number {
  const readAt = performance.now();
  return () => now + Math.floor(performance.now() - readAt);
}
