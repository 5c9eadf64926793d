// The bounds of rate-limit counts. A separate file: programs that only read settings must not load the limiter.

/** A larger count is not one of ours, and is reset. */
export const INVALID_COUNT = 1e9;
/** The most points of a window. Refused requests are counted too, so a count may exceed its points, but not 10 times. */
export const MAX_POINTS = INVALID_COUNT / 10;
