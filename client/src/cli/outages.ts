import type { EventsOptions } from '../licensing.ts';
import { jsonOf, type Shown, tell } from './output.ts';

/**
 * Says on the standard error when a walk over events listens, and once an outage that it does not. `opened`: with which words. `isOpen`: not
 * at first.
 */
export function outages(
  { json }: Shown,
  opened = 'Listening for events; Ctrl-C ends it',
  isOpen = false,
): Required<Pick<EventsOptions, 'onOpen' | 'onRetry'>> {
  // In the place of the bar of a job.
  const start = process.stderr.isTTY ? '\r\u001B[K' : '';
  let state: 'open' | 'away' | undefined = isOpen ? 'open' : undefined;
  return {
    onOpen: () => {
      // The gateway ends a stream now and then: that is no outage.
      if (state !== 'open' && !json) tell(opened, start);
      state = 'open';
    },
    onRetry: ({ message }) => {
      if (state !== 'away')
        tell(
          json
            ? jsonOf({ retrying: true, detail: message })
            : `${message.replace(/ \(\w+, request \S+\)$/, '')}: trying again`,
          start,
        );
      state = 'away';
    },
  };
}
