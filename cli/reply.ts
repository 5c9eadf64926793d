// The parts of a reply that the hub always fills in, though the message type cannot say so.

/** @throws Error if the part is missing: the server is no hub, or a broken one. */
export function part<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new Error(`The hub's reply has no ${name}.`);
  return value;
}
