import type { Socket } from 'node:net';
import { buildConnector } from 'undici';

const [CR, LF, ZERO, TWO] = [0x0d, 0x0a, 0x30, 0x32] as const;

/**
 * Opens the connections of the gateway's HTTP clients. undici takes a 100 that it did not ask for as the end of the connection, although
 * it passes over every other interim response (RFC 9110 15.2). On these connections it reads each 100 as a 102.
 */
export function openConnector(options: buildConnector.BuildOptions): buildConnector.connector {
  const connect = buildConnector(options);
  return (target, callback) =>
    connect(target, (...[error, socket]) => {
      if (error) return callback(error, null);
      readContinueAsProcessing(socket);
      callback(null, socket);
    });
}

/** Changes the bytes as undici takes them from the socket. */
function readContinueAsProcessing(socket: Socket): void {
  const read = socket.read.bind(socket);
  let heads = new ResponseHeads();
  let written = 0;
  socket.read = (size?: number): unknown => {
    const chunk = read(size) as Buffer | null;
    if (chunk === null) return null;
    // No request is sent before the response to the last one has ended, so a next response begins after a further request.
    if (heads.isFinal && socket.bytesWritten !== written) heads = new ResponseHeads();
    written = socket.bytesWritten;
    for (let at = 0; at < chunk.length && !heads.isFinal; at++)
      if (heads.endsContinue(chunk[at] as number)) chunk[at] = TWO;
    return chunk;
  };
}

/** The status line of an interim response; `x` is any byte. */
const INTERIM = Buffer.from('HTTP/1.x 1xx');
const ANY = 0x78;

/** Follows the heads of a response, byte by byte, to the status line of the final one. */
class ResponseHeads {
  isFinal = false;
  /** How much of a status line has come; all of it: fields come. */
  #matched = 0;
  #hasZero = false;
  #lineEnds = 0;

  /** Whether this byte is the last digit of the status 100. */
  endsContinue(byte: number): boolean {
    if (this.#matched === INTERIM.length) this.#passField(byte);
    else if (this.#matched > 0 || (byte !== CR && byte !== LF)) return this.#passStatus(byte);
    return false;
  }

  #passStatus(byte: number): boolean {
    const expected = INTERIM[this.#matched++];
    this.isFinal = byte !== expected && expected !== ANY;
    const isContinue = this.#hasZero && byte === ZERO && this.#matched === INTERIM.length;
    this.#hasZero = byte === ZERO;
    return isContinue;
  }

  /** An empty line ends the head, and another head follows. */
  #passField(byte: number): void {
    if (byte !== CR) this.#lineEnds = byte === LF ? this.#lineEnds + 1 : 0;
    if (this.#lineEnds < 2) return;
    this.#matched = 0;
    this.#lineEnds = 0;
  }
}
