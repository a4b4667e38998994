import type { EventsOptions } from '../licensing.ts';
import { jsonOf, type Shown, tell } from './output.ts';

/**
 * Reports on the standard error when a walk over events begins to listen, and reports an outage once. `opened` has the words for the
 * beginning. `isOpen` means that they are not printed at first.
 */
export function outages(
  { json }: Shown,
  opened = 'Listening for events; Ctrl-C ends it',
  isOpen = false,
): Required<Pick<EventsOptions, 'onOpen' | 'onRetry'>> {
  // The line replaces the progress bar of a job.
  const start = process.stderr.isTTY ? '\r\u001B[K' : '';
  let state: 'open' | 'away' | undefined = isOpen ? 'open' : undefined;
  return {
    onOpen: () => {
      // The gateway ends a stream from time to time, which is no outage.
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
