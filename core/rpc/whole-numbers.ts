// Finds whole numbers in JSON that are written as text but not in decimal digits: the RPC library takes "0x1" for 1.
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';

/** The path of the first 64-bit number in a message that is text and no number. */
export function wrongNumber(message: DescMessage, json: unknown): string | undefined {
  if (typeof json !== 'object' || json === null || isWellKnown(message)) return undefined;
  for (const [name, value] of Object.entries(json)) {
    const field = message.fields.find((each) => each.jsonName === name || each.name === name);
    const inside = field && wrongIn(field, value);
    if (inside !== undefined) return inside === '' ? name : `${name}.${inside}`;
  }
  return undefined;
}

/** Whether a message, or one inside of it, has a field for a 64-bit number. */
export function canHaveLongs(message: DescMessage, seen = new Set<DescMessage>()): boolean {
  if (isWellKnown(message) || seen.has(message)) return false;
  seen.add(message);
  return message.fields.some(
    (field) => LONG.has(field.scalar) || (field.message !== undefined && canHaveLongs(field.message, seen)),
  );
}

/** Their JSON is not that of their fields. */
function isWellKnown(message: DescMessage): boolean {
  return message.typeName.startsWith('google.protobuf.');
}

/** The path within the value; empty if the value itself is wrong. */
function wrongIn(field: DescField, value: unknown): string | undefined {
  const isMany = field.fieldKind === 'list' || field.fieldKind === 'map';
  const each =
    isMany && typeof value === 'object' && value !== null ? Object.entries(value) : [['', value] as const];
  for (const [key, one] of each) {
    const inside = field.message
      ? wrongNumber(field.message, one)
      : typeof one === 'string' && LONG.has(field.scalar) && !/^-?\d+$/.test(one)
        ? ''
        : undefined;
    if (inside !== undefined) return [key, inside].filter((part) => part !== '').join('.');
  }
  return undefined;
}

const LONG: ReadonlySet<ScalarType | undefined> = new Set([
  ScalarType.INT64,
  ScalarType.UINT64,
  ScalarType.SINT64,
  ScalarType.FIXED64,
  ScalarType.SFIXED64,
]);
