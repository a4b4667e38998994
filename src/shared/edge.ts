/** `at` is the name of the edge. */
type Report = (at: string, fault: unknown) => void;

/** Throws the fault until a log is set, so that it ends the process, as it would without an edge. */
let report: Report = (_, fault) => {
  throw fault;
};

/** Sets the function that receives the faults of this process. It must not throw. */
export function reportFaults(to: Report): void {
  report = to;
}

/** Reports a fault that the calling code has caught. */
export function reportFault(at: string, fault: unknown): void {
  report(at, fault);
}

/**
 * Wraps the outermost function of a listener, a timer or a stream. No code above it catches, so a fault in it would end the process. The
 * wrapper catches what `work` throws and what its promise rejects with. It then logs the fault and runs `instead`, and the process goes on.
 */
export function edge<A extends unknown[]>(
  at: string,
  work: (...args: A) => unknown,
  instead?: (...args: A) => void,
): (...args: A) => void {
  const failed = (fault: unknown, args: A): void => {
    report(at, fault);
    instead?.(...args);
  };
  return (...args) => {
    try {
      const result = work(...args);
      if (result instanceof Promise) result.catch((fault: unknown) => failed(fault, args));
    } catch (fault) {
      failed(fault, args);
    }
  };
}

/** Runs work for which no code waits. */
export function inBackground(at: string, work: () => unknown): void {
  edge(at, work)();
}
