// A number with its noun.

/** `1 license`, `3 licenses` */
export function counted(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}
