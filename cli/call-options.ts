// Options of calls that may take longer than usual.

/** No deadline: what bounds the call is the hub, which waits for a provider or works through a table, or nothing. */
export const NO_DEADLINE = { timeoutMs: 0 };
