const [CR, LF, ZERO, TWO] = [0x0d, 0x0a, 0x30, 0x32] as const;

/**
 * The most bytes that a response may have outside its body in addition to the size of its body. Small chunks need many sizes, so the limit
 * grows with the body.
 */
const MAX_FRAME_BYTES = 64 * 1024;
/** The status line of an interim response; `x` is any byte. */
const INTERIM = Buffer.from('HTTP/1.x 1xx');
const ANY = 0x78;
const CHUNKED = /\ntransfer-encoding[ \t]*:(?:[^\n]|\n[ \t])*chunked/i;

type Part = 'status' | 'fields' | 'size' | 'extension' | 'data' | 'data-end' | 'trailers' | 'rest';

/**
 * Follows the bytes of one response, and counts those outside of its body: heads before the final one, status line and fields, sizes and
 * extensions of chunks. undici limits the fields of one head only.
 */
export class ResponseFrame {
  #part: Part = 'status';
  #frameBytes = 0;
  #bodyBytes = 0;
  /** The number of bytes that have matched the status line of an interim response. */
  #matched = 0;
  #hasZero = false;
  #isFinal = false;
  #lineEnds = 0;
  /** The part of the final head that has arrived. */
  #head = '';
  /** The bytes of the current chunk that have not arrived yet. */
  #left = 0;

  /** True if the next bytes may belong to another response. */
  get mayBeOver(): boolean {
    return this.#part === 'rest';
  }

  get isTooLong(): boolean {
    return this.#frameBytes > MAX_FRAME_BYTES + this.#bodyBytes;
  }

  /** Changes each 100 in these bytes to a 102. */
  follow(bytes: Buffer): void {
    for (let at = 0; at < bytes.length && this.#part !== 'rest' && !this.isTooLong;)
      if (this.#part === 'data') at += this.#skipData(bytes.length - at);
      else {
        this.#frameBytes++;
        if (this.#endsContinue(bytes[at] as number)) bytes[at] = TWO;
        at++;
      }
  }

  #skipData(available: number): number {
    const skipped = Math.min(available, this.#left);
    this.#bodyBytes += skipped;
    this.#left -= skipped;
    if (this.#left === 0) this.#part = 'data-end';
    return skipped;
  }

  /** True if this byte is the last digit of the status 100. */
  #endsContinue(byte: number): boolean {
    switch (this.#part) {
      case 'status':
        return (this.#matched > 0 || (byte !== CR && byte !== LF)) && this.#passStatus(byte);
      case 'fields':
        if (this.#isFinal) this.#head += String.fromCharCode(byte);
        if (this.#endsFields(byte)) this.#endHead();
        return false;
      case 'size':
        this.#passSize(byte);
        return false;
      case 'trailers':
        if (this.#endsFields(byte)) this.#part = 'rest';
        return false;
      default:
        if (byte === LF) this.#endLine();
        return false;
    }
  }

  #passStatus(byte: number): boolean {
    const expected = INTERIM[this.#matched++];
    this.#isFinal = byte !== expected && expected !== ANY;
    const isContinue = this.#hasZero && byte === ZERO && this.#matched === INTERIM.length;
    this.#hasZero = byte === ZERO;
    if (this.#isFinal || this.#matched === INTERIM.length) this.#part = 'fields';
    return isContinue;
  }

  /** Handles an empty line, which ends a head or the trailers. */
  #endsFields(byte: number): boolean {
    if (byte !== CR) this.#lineEnds = byte === LF ? this.#lineEnds + 1 : 0;
    return this.#lineEnds === 2;
  }

  #endHead(): void {
    this.#matched = 0;
    this.#lineEnds = 0;
    if (!this.#isFinal) this.#part = 'status';
    else this.#part = CHUNKED.test(this.#head) ? 'size' : 'rest';
  }

  #passSize(byte: number): void {
    const digit = Number.parseInt(String.fromCharCode(byte), 16);
    if (!Number.isNaN(digit)) this.#left = this.#left * 16 + digit;
    else if (byte === LF) this.#endLine();
    else this.#part = 'extension';
  }

  /** Ends the line of a size with its extension, or of the data of a chunk. */
  #endLine(): void {
    if (this.#part === 'data-end') this.#part = 'size';
    else if (this.#left > 0) this.#part = 'data';
    else {
      this.#part = 'trailers';
      this.#lineEnds = 1;
    }
  }
}
