import { Injectable } from '@nestjs/common';
import {
  cursorOf,
  type LoggedMove,
  MAX_MOVES,
  type MoveLog,
  type Moves,
  MOVES_KEPT_MS,
  MovesDropped,
  NO_MOVE,
  type WantedMove,
} from './move-log.ts';

/** A record takes about a KiB: all moves of a process take about 100 MiB at most. */
const MOST = MAX_MOVES / 10;

/** Without Redis, for as long as the process lives. */
@Injectable()
export class MemoryMoveLog implements MoveLog {
  #moves: LoggedMove[] = [];
  #newest = NO_MOVE;
  #dropped = NO_MOVE;
  /** Numbers the moves of one millisecond, and of a clock that stepped back. */
  #sequence = 0;
  #time = 0;

  /** Called in the step that moves the record. `at`: ms since the epoch. */
  add(of: LoggedMove['of'], name: string, state: string, record: unknown, at: number): void {
    this.#sequence = at > this.#time ? 0 : this.#sequence + 1;
    this.#time = Math.max(this.#time, at);
    this.#newest = cursorOf(`${this.#time}-${this.#sequence}`);
    this.#moves.push({ id: this.#newest, at, of, state, name, record });
    if (this.#moves.length > MOST + MOST / 10) this.#drop(this.#moves.length - MOST);
  }

  async read(after: string | undefined, count: number, wanted?: readonly WantedMove[]): Promise<Moves> {
    if (after !== undefined && after < this.#dropped) throw new MovesDropped(this.#dropped);
    const from = after === undefined ? 0 : this.#firstAfter(after);
    const looked = this.#moves.slice(from, from + count);
    return {
      found: looked.filter(({ of, state }) => !wanted?.length || wanted.includes(`${of}:${state}`)),
      last: looked.at(-1)?.id,
      isEnd: looked.length < count,
    };
  }

  async one(id: string): Promise<LoggedMove | undefined> {
    const move = this.#moves[this.#firstAfter(id) - 1];
    return move?.id === id ? move : undefined;
  }

  async newest(): Promise<string> {
    return this.#newest;
  }

  async trim(): Promise<void> {
    const end = cursorOf(`${Date.now() - MOVES_KEPT_MS}-0`);
    this.#drop(this.#firstAfter(end));
  }

  #drop(count: number): void {
    this.#dropped = this.#moves[count - 1]?.id ?? this.#dropped;
    this.#moves = this.#moves.slice(count);
  }

  /** By halves: the cursors grow. */
  #firstAfter(cursor: string): number {
    let [low, high] = [0, this.#moves.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.#moves[middle]?.id ?? '') <= cursor) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
