/** Errors with a secret in them, in the shapes that libraries throw. It has no imports, since gateways load it too (disturb.ts). */
export function leakShapes(secret: string): Readonly<Record<string, unknown>> {
  const caught = (provoke: () => unknown): unknown => {
    try {
      return provoke();
    } catch (error) {
      return error;
    }
  };
  return {
    message: new RangeError(`login with ${secret} failed`),
    'nested cause': new Error('outer', { cause: new Error('inner', { cause: new Error(secret) }) }),
    AggregateError: new AggregateError([new Error(secret), secret], `all of ${secret}`),
    'headers of a request on an error': Object.assign(new Error('status 401'), {
      code: secret,
      config: { headers: { authorization: `Bearer ${secret}` }, data: JSON.stringify({ password: secret }) },
    }),
    'headers alone': { authorization: `Bearer ${secret}` },
    'Basic authentication': new Error(Buffer.from(`key:${secret}`).toString('base64')),
    'URL with credentials': caught(() => new URL(`redis://user:${secret}@[::1`)),
    Buffer: Buffer.from(secret),
    Map: new Map([[secret, { token: secret }]]),
    'JSON that does not parse': caught(() => JSON.parse(`"${secret}" x`)),
    text: secret,
    'name of an error': Object.assign(new Error('x'), { name: `Error${secret}` }),
    'message like a frame': new Error(`x\n    at ${secret} (file:///${secret}.js:1:1)`),
    'stack made up': Object.assign(new Error(secret), { toString: () => secret, toJSON: () => secret }),
  };
}
