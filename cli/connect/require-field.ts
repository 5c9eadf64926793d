// Requires a field that the hub always sets, although its message type is optional.

/** @throws Error if the field is missing: the server is no hub, or a broken one */
export function requireField<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new Error(`The hub's reply has no ${name}.`);
  return value;
}
