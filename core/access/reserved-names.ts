// Names that a token cannot have, because the audit log uses them for actors of the hub itself.

const RESERVED = /^(hub|hubctl.*|localadmin|settlement|sweep|unknown|tok[0-9a-z]{26})$/;

/**
 * Whether a name looks like an actor of the hub, or like the id of a token. Compares only letters and digits,
 * and ignores case, width and accents.
 */
export function isReservedName(name: string): boolean {
  const plain = name
    .normalize('NFKD')
    .replace(/[^\p{Letter}\p{Number}]/gu, '')
    .toLowerCase();
  return RESERVED.test(plain);
}
