/** The parts of URLs that name several hosts, which `URL` cannot read. */

const HOST = /^(?:\[([\da-fA-F:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/;

export interface Host {
  readonly host: string;
  readonly port: number;
}

/** Reads the name or address of a host, perhaps with a port. An IPv6 address is in brackets. */
export function hostIn(text: string, defaultPort: number): Host | undefined {
  const [, ipv6, name, digits] = HOST.exec(text) ?? [];
  const host = ipv6 ?? name;
  const port = Number(digits ?? defaultPort);
  return host !== undefined && port >= 1 && port <= 65_535 ? { host, port } : undefined;
}

/** Returns undefined where the percent-encoding is broken. */
export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
