// Options of calls that may take long.

/** No deadline: the hub limits the call itself, because it waits for a provider or processes a table. */
export const NO_DEADLINE = { timeoutMs: 0 };
