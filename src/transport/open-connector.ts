import type { Socket } from 'node:net';
import { buildConnector, errors } from 'undici';
import { ResponseFrame } from './response-frame.ts';

/** The age at which a pool replaces a connection (undici's `clientTtl`). Its name is then resolved again, because the server may have moved. */
export const CONNECTION_LIFE_MS = 2 * 60_000;

/**
 * Opens the connections of the gateway's HTTP clients. undici ends the connection at a 100 that it did not request, although it skips every
 * other interim response (RFC 9110 15.2). On these connections it reads each 100 as a 102. undici also has no limit for interim responses,
 * status lines and the frame of chunks, so a connection is ended when a response has too many of these bytes.
 */
export function openConnector(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector(options);
  return (target, callback) =>
    connect(target, (...[error, socket]) => {
      if (error) return callback(error, null);
      followResponses(socket);
      callback(null, socket);
    });
}

/** Reads and changes the bytes while undici reads them from the socket. */
function followResponses(socket: Socket): void {
  const read = socket.read.bind(socket);
  let frame = new ResponseFrame();
  let written = 0;
  socket.read = (size?: number): unknown => {
    const chunk = read(size) as Buffer | null;
    if (chunk === null) return null;
    // No request is sent before the last response has ended, so a further request marks the beginning of the next response.
    if (frame.mayBeOver && socket.bytesWritten !== written) frame = new ResponseFrame();
    written = socket.bytesWritten;
    frame.follow(chunk);
    if (!frame.isTooLong) return chunk;
    socket.destroy(new errors.HeadersOverflowError());
    return null;
  };
}
