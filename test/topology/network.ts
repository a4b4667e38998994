import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A machine of the test's network: an address of the loopback device, from which its processes open their connections. */
export type Host = `127.0.${number}.${number}`;

/** Between this pair no byte gets through, in either direction. */
interface Link {
  readonly from: string;
  readonly to: Host;
  readonly client: Socket;
  /** Undefined when the link was opened during the cut. */
  server: Socket | undefined;
}

/**
 * A network that a test can cut without rights on the machine. A port represents each server, and the address of a client identifies
 * it. A cut is silent, like a broken cable: connections stay open and no byte gets through. After the repair, bytes written meanwhile
 * arrive, as TCP's retransmission would deliver them.
 */
export class Network {
  readonly #links = new Set<Link>();
  readonly #servers: Server[] = [];
  #cut: (one: string, other: string) => boolean = () => false;

  /** The port of that server for all hosts. */
  async expose(host: Host, port: number): Promise<number> {
    const server = createServer({ allowHalfOpen: true }, (client) => {
      const link: Link = { from: client.remoteAddress ?? '', to: host, client, server: undefined };
      this.#links.add(link);
      client.on('error', () => client.destroy());
      client.once('close', () => {
        this.#links.delete(link);
        link.server?.destroy();
      });
      if (this.#cut(link.from, host)) client.pause();
      else this.#join(link, port);
    });
    this.#servers.push(server);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return (server.address() as AddressInfo).port;
  }

  /** These hosts reach only each other, until `mend`. */
  isolate(...island: readonly Host[]): void {
    const inside = new Set<string>(island);
    this.cut((one, other) => inside.has(one) !== inside.has(other));
  }

  cut(between: (one: string, other: string) => boolean): void {
    this.#cut = between;
    for (const { from, to, client, server } of this.#links) {
      if (!between(from, to)) continue;
      client.pause();
      server?.pause();
    }
  }

  mend(): void {
    this.#cut = () => false;
    for (const { client, server } of this.#links) {
      if (!server) client.destroy();
      else {
        client.resume();
        server.resume();
      }
    }
  }

  async stop(): Promise<void> {
    const closed = this.#servers.map((server) => once(server, 'close'));
    for (const server of this.#servers) server.close();
    for (const { client, server } of this.#links) {
      client.destroy();
      server?.destroy();
    }
    await Promise.all(closed);
  }

  #join(link: Link, port: number): void {
    const { client } = link;
    const server = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
    link.server = server;
    server.on('error', () => client.destroy());
    server.once('close', () => client.destroy());
    client.on('data', (chunk) => server.write(chunk));
    server.on('data', (chunk) => client.write(chunk));
    client.once('end', () => server.end());
    server.once('end', () => client.end());
  }
}
