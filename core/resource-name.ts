// The names that operators give to apps, slots and fee rules.

/** 1 to 63 lower-case ASCII letters, digits and inner dashes; the same rule as in the contract's requests. */
export function isResourceName(text: string): boolean {
  return /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(text);
}
