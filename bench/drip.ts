import { connect } from 'node:net';

/** A process that opens slow connections: `drip.ts <port> <count> <head>`. It prints how long the last one stayed open (s). */

const [port, count, head = ''] = process.argv.slice(2);

function keep(): Promise<number> {
  return new Promise((resolve) => {
    const started = performance.now();
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(head));
    const timer = setInterval(() => socket.write('a'), 2_000);
    socket
      .on('error', () => undefined)
      .resume()
      .once('close', () => {
        clearInterval(timer);
        resolve((performance.now() - started) / 1_000);
      });
  });
}

const kept = await Promise.all(Array.from({ length: Number(count) }, keep));
process.stdout.write(String(Math.max(...kept)));
