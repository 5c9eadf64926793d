// The type of the function that sends requests.

/** `fetch` of the DOM or Node.js types, whichever the application compiles with. */
export type Fetch = typeof globalThis extends { fetch: infer Known }
  ? Known
  : (url: string, init: object) => Promise<unknown>;
