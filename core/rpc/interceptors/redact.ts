// Redacts messages for the log: fields that the contract marks with `debug_redact` appear without their
// values.
import { clone, type DescMessage, type JsonValue, type MessageShape, toJson } from '@bufbuild/protobuf';
import { isReflectMessage, type ReflectMessage, reflect } from '@bufbuild/protobuf/reflect';

const REDACTED = '[secret]';

/**
 * Returns the message as protobuf JSON. Redacted strings and values of redacted maps become `[secret]`;
 * redacted fields of other types are removed. Never throws: a message without a JSON form becomes a string
 * that says so.
 */
export function redacted<D extends DescMessage>(schema: D, message: MessageShape<D>): JsonValue {
  try {
    const copy = clone(schema, message);
    redact(reflect(schema, copy));
    return toJson(schema, copy);
  } catch {
    return '[not representable in JSON]'; // for example a time out of range, which is rejected later
  }
}

function redact(message: ReflectMessage): void {
  for (const field of message.fields) {
    if (!message.isSet(field)) continue;
    if (field.proto.options?.debugRedact === true) {
      if (field.fieldKind === 'scalar' && typeof message.get(field) === 'string')
        message.set(field, REDACTED);
      else if (field.fieldKind === 'map' && field.mapKind === 'scalar') {
        const map = message.get(field);
        for (const [key, value] of map) {
          if (typeof value === 'string') map.set(key, REDACTED);
          else map.delete(key);
        }
      } else message.clear(field);
    } else if (field.fieldKind === 'message') {
      redact(message.get(field));
    } else if (field.fieldKind === 'list' && field.listKind === 'message') {
      for (const item of message.get(field)) if (isReflectMessage(item)) redact(item);
    } else if (field.fieldKind === 'map' && field.mapKind === 'message') {
      for (const item of message.get(field).values()) if (isReflectMessage(item)) redact(item);
    }
  }
}
