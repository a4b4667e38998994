/**
 * Runs in the gateway of this package before the gateway itself. The process that started the gateway moves its clock as far as that of the
 * emulated platform. It is no part of the gateway's own build.
 */
import { moveClock } from './moved-clock.ts';

process.on('message', (message: { readonly aheadMs: number }) => {
  moveClock(message.aheadMs);
  process.send?.(message);
});
// The gateway may end although the channel is still open.
process.channel?.unref();
