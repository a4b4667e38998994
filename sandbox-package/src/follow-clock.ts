/**
 * Loaded into the gateway of this package before the gateway itself: its clock is moved by the process that started it, as far as that of
 * the emulated platform. It is no part of the gateway's own build.
 */
import { moveClock } from './moved-clock.ts';

process.on('message', (message: { readonly aheadMs: number }) => {
  moveClock(message.aheadMs);
  process.send?.(message);
});
// The gateway ends although it could still be told.
process.channel?.unref();
