// Whether this process wants requests: readiness probes on both ports say so, and connections end while it drains.

export type Availability = {
  readonly state: 'starting' | 'serving' | 'draining';
  /** Ready, and found by hubctl. */
  serve(): void;
  /** Not ready any more, and about to stop: requests that still come are answered, and their connections end. */
  drain(): void;
  /** Called once, when draining begins. */
  onDrain(listener: () => void): void;
};

export function createAvailability(): Availability {
  const listeners: (() => void)[] = [];
  let state: Availability['state'] = 'starting';
  return {
    get state() {
      return state;
    },
    serve() {
      if (state === 'starting') state = 'serving';
    },
    drain() {
      if (state === 'draining') return;
      state = 'draining';
      for (const listener of listeners) listener();
    },
    onDrain: (listener) => void listeners.push(listener),
  };
}
