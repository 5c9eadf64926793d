// Tracks whether this process accepts requests. Readiness probes on both ports report it.

export type Readiness = {
  readonly state: 'starting' | 'serving' | 'draining';
  /** Ready, and listed for hubctl. */
  serve(): void;
  /** No longer ready. Requests in flight and new ones are answered, and connections close. */
  drain(): void;
  /** Called once, when draining begins. */
  onDrain(listener: () => void): void;
};

export function createReadiness(): Readiness {
  const listeners: (() => void)[] = [];
  let state: Readiness['state'] = 'starting';
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
