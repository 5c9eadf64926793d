// Network conditions of the simulator: the controls change them, requests read them.

export type Conditions = {
  /** Delay added to every provider response. */
  latencyMs: number;
  /** Requests that followed a redirect. */
  followedRedirects: number;
};
