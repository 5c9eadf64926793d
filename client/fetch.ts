// The function by which requests are sent.

/** The fetch of the application's types, as it is with Signal. */
export type Fetch = typeof globalThis extends { fetch: infer Known }
  ? Known
  : (url: string, init: object) => Promise<unknown>;
