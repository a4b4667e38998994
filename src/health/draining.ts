import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';

/** Whether the process was told to stop: from then on it is not ready, and only finishes what it has. */
@Injectable()
export class Draining implements BeforeApplicationShutdown {
  begun = false;

  beforeApplicationShutdown(): void {
    this.begun = true;
  }
}
