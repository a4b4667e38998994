import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';

export const AUDIENCE = 'licensing-gateway';

type Key = Awaited<ReturnType<typeof generateKeyPair>>;

/** An issuer of JWTs: real keys, and a real HTTP server that serves the public ones until the test changes it. */
export class Issuer {
  /** Paths of the requests it got. */
  readonly requests: string[] = [];
  readonly keys = new Map<string, Key>();
  readonly published: JWK[] = [];
  answer: (response: ServerResponse) => unknown = (response) =>
    response.setHeader('content-type', 'application/jwk-set+json').end(this.keySet);
  readonly #server = createServer({ keepAliveTimeout: 0 }, (incoming, response) => {
    this.requests.push(incoming.url ?? '');
    this.answer(response);
  });

  static async start({ host = '127.0.0.1', port = 0, kid = 'key-1' } = {}): Promise<Issuer> {
    const issuer = new Issuer();
    issuer.#server.listen(port, host);
    await once(issuer.#server, 'listening');
    await issuer.addKey(kid);
    return issuer;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get keySet(): string {
    return JSON.stringify({ keys: this.published });
  }

  /** The settings of a gateway that trusts it. */
  get environment(): Record<string, string> {
    return { JWT_ISSUER: this.url, JWT_AUDIENCE: AUDIENCE, JWT_JWKS_URL: `${this.url}/keys` };
  }

  async addKey(kid: string, alg = 'ES256'): Promise<Key> {
    const key = await generateKeyPair(alg, { extractable: true });
    this.keys.set(kid, key);
    this.published.push({ ...(await exportJWK(key.publicKey)), kid, alg, use: 'sig' });
    return key;
  }

  withdrawKey(kid: string): void {
    this.published.splice(
      this.published.findIndex((key) => key.kid === kid),
      1,
    );
  }

  /** A valid token; `claims` and `header` override its fields, and undefined removes one. */
  token(
    claims: Record<string, unknown> = {},
    header: { kid?: string | undefined; [member: string]: unknown } = {},
  ): Promise<string> {
    const now = Math.floor(Date.now() / 1_000);
    const { kid = 'key-1' } = header;
    const alg = this.published.find((each) => each.kid === kid)?.alg ?? 'ES256';
    const key = this.keys.get(kid) ?? this.keys.get('key-1');
    return new SignJWT({ iss: this.url, aud: AUDIENCE, iat: now, exp: now + 600, ...claims })
      .setProtectedHeader({ alg, typ: 'at+jwt', kid: 'key-1', ...header })
      .sign((key as Key).privateKey);
  }

  async close(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }
}
