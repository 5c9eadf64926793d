// How far counts go. By itself, since settings are read by programs that count nothing.

export const MORE_THAN_ANYBODY_TAKES = 1e9;
/**
 * So many points a window may have at most. Requests that are refused together are counted as well, so that a count goes
 * beyond its points, and must not come near what is taken for nobody's.
 */
export const MOST_POINTS = MORE_THAN_ANYBODY_TAKES / 10;
