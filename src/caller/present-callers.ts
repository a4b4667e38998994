import { Injectable } from '@nestjs/common';

/** A caller counts as present for this time after its last request. */
const PRESENT_MS = 1_000;

/** Whether a caller is alone: what would delay other callers need not wait then. */
@Injectable()
export class PresentCallers {
  /** The last two callers, the later one first. */
  #last = { name: '', at: -Infinity };
  #before = { name: '', at: -Infinity };

  /** A request of this caller has arrived. */
  arrived(caller: string, now: number): void {
    if (caller !== this.#last.name) this.#before = this.#last;
    this.#last = { name: caller, at: now };
  }

  /** Whether another caller than this one has sent a request just now. */
  areBeside(caller: string, now: number): boolean {
    const other = this.#last.name === caller ? this.#before : this.#last;
    return now - other.at <= PRESENT_MS;
  }
}
