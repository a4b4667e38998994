/**
 * Preloaded into a gateway (`--import`): for each message it answers with the longest time (ms) for which one turn of the event loop has
 * used the processor since the last message. What other processes of the machine take does not count. It imports no file of the gateway.
 */

export type Question = 'longest turn';

let longest = 0;
let before = process.threadCpuUsage();

setInterval(() => {
  const now = process.threadCpuUsage();
  longest = Math.max(longest, (now.user - before.user + now.system - before.system) / 1_000);
  before = now;
}, 1).unref();

process.on('message', (question: Question) => {
  if (question === 'longest turn') process.send?.(longest);
  longest = 0;
});
// The test may end without keeping the gateway alive.
process.channel?.unref();
