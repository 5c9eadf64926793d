// Names that a token cannot have: the hub's own actors have them in the audit log.

/** Commands that work on the database without a hub are called `hubctl …`. */
const RESERVED = /^(hub|hubctl.*|localadmin|settlement|sweep|unknown|tok[0-9a-z]{26})$/;

/**
 * Whether a name looks like that of one of the hub's own actors, or like a token's id: only letters and digits count, without
 * their case, width and accents.
 */
export function isReservedName(name: string): boolean {
  const plain = name
    .normalize('NFKD')
    .replace(/[^\p{Letter}\p{Number}]/gu, '')
    .toLowerCase();
  return RESERVED.test(plain);
}
