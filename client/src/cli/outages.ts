import type { EventsOptions } from '../licensing.ts';
import type { Given } from './arguments.ts';

/** Says on the standard error when a walk over events listens, and once an outage that it does not. */
export function outages({ yes }: Given): Required<Pick<EventsOptions, 'onOpen' | 'onRetry'>> {
  const json = yes.has('json');
  const tell = (line: string) => process.stderr.write(`${line}\n`);
  let state: 'open' | 'away' | undefined;
  return {
    onOpen: () => {
      // The gateway ends a stream now and then: that is no outage.
      if (state !== 'open' && !json) tell('Listening for events; Ctrl-C ends it');
      state = 'open';
    },
    onRetry: ({ message }) => {
      if (state !== 'away')
        tell(
          json
            ? JSON.stringify({ retrying: true, detail: message })
            : `${message.replace(/ \(\w+, request \S+\)$/, '')}: trying again`,
        );
      state = 'away';
    },
  };
}
