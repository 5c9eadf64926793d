// Makes the JSON Schema of the body of an event from the messages of the contract, in their proto3 JSON.
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence, TimestampSchema } from '@bufbuild/protobuf/wkt';
import { kindOf, type ObjectKind } from '../../../core/event/types.ts';
import type { Comments } from '../../../gateway/openapi/comments.ts';
import type { JsonSchema } from '../../../gateway/routes/openapi-operation.ts';
import { CustomerSchema } from '../../../gen/hub/customer/v1/customer_pb.ts';
import { EndpointSchema } from '../../../gen/hub/event/v1/event_pb.ts';
import { LicenseSchema, SeatSchema } from '../../../gen/hub/license/v1/license_pb.ts';
import { OrderSchema } from '../../../gen/hub/order/v1/order_pb.ts';
import { CallbackSchema, ChargeSessionSchema } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { RefundSchema } from '../../../gen/hub/payment/v1/refund_pb.ts';
import { EVENT_TYPES, type EventType } from '../../../lib/presentation/event-types.ts';

/** The message of each kind of object. */
export const OBJECT_MESSAGES: Readonly<Record<ObjectKind, DescMessage>> = {
  license: LicenseSchema,
  seat: SeatSchema,
  session: ChargeSessionSchema,
  refund: RefundSchema,
  order: OrderSchema,
  callback: CallbackSchema,
  customer: CustomerSchema,
  endpoint: EndpointSchema,
};

/** Where the schema of a type is, in `docs/reference/events/`. */
export function schemaPath(type: EventType): string {
  return `${type.replace('.', '/')}.schema.json`;
}

/**
 * Returns the schema of the body of a delivery. It allows members that it does not name, because later hubs
 * may add some.
 */
export function eventSchema(type: EventType, comments: Pick<Comments, 'ofField'>): JsonSchema {
  const message = OBJECT_MESSAGES[kindOf(type)];
  const isTest = type === 'endpoint.test';
  const object = { $ref: `#/$defs/${message.name}` };
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: type,
    description: EVENT_TYPES[type],
    type: 'object',
    properties: {
      type: { const: type },
      timestamp: { type: 'string', format: 'date-time', description: 'When the change was made.' },
      sequence: isTest
        ? { const: 0, description: 'A test has no number.' }
        : { type: 'integer', minimum: 1, description: 'Number of the event.' },
      data: isTest
        ? object
        : { anyOf: [object, { type: 'null', description: 'The object no longer exists.' }] },
    },
    required: ['type', 'timestamp', 'sequence', 'data'],
    $defs: definitionsOf(message, comments, type === 'license.issued' ? LICENSE_KEY : {}),
  };
}

const LICENSE_KEY = {
  licenseKey: {
    type: 'string',
    description: 'The license key, for endpoints with include_keys if the hub can derive it.',
  },
};

/** The schemas of a message and of those in it, by name. */
function definitionsOf(
  message: DescMessage,
  comments: Pick<Comments, 'ofField'>,
  more: JsonSchema,
): Readonly<Record<string, JsonSchema>> {
  const found: Record<string, JsonSchema> = {};
  const messages: Record<string, string> = {};
  const visit = ({ name, typeName, fields }: DescMessage, added: JsonSchema): void => {
    if (messages[name] === typeName) return;
    if (name in messages) throw new Error(`two messages have the name ${name}`);
    messages[name] = typeName;
    const properties = fields.map((field) => {
      const description = comments.ofField(field);
      return [field.jsonName, { ...valueSchema(field), ...(description !== '' && { description }) }];
    });
    found[name] = {
      type: 'object',
      properties: { ...Object.fromEntries(properties), ...added },
      required: fields.filter(isAlwaysThere).map(({ jsonName }) => jsonName),
    };
    for (const { message: nested } of fields) {
      if (nested !== undefined && nested.typeName !== TimestampSchema.typeName) visit(nested, {});
    }
  };
  visit(message, more);
  return found;
}

/** Lists, maps, and fields without presence are written also if they are empty. */
function isAlwaysThere({ presence }: DescField): boolean {
  return presence === FeatureSet_FieldPresence.IMPLICIT;
}

function valueSchema(field: DescField): JsonSchema {
  switch (field.fieldKind) {
    case 'scalar':
      return scalarSchema(field.scalar);
    case 'enum':
      return { enum: field.enum.values.map(({ name }) => name) };
    case 'message':
      return messageSchema(field.message);
    case 'list':
      if (field.listKind === 'scalar') return { type: 'array', items: scalarSchema(field.scalar) };
      if (field.listKind === 'message') return { type: 'array', items: messageSchema(field.message) };
      break;
    case 'map':
      if (field.mapKind === 'scalar') {
        return { type: 'object', additionalProperties: scalarSchema(field.scalar) };
      }
      break;
  }
  throw new Error(`${field.parent.typeName}.${field.name}: no schema for this kind of field`);
}

function messageSchema({ name, typeName }: DescMessage): JsonSchema {
  if (typeName === TimestampSchema.typeName) return { type: 'string', format: 'date-time' };
  return { $ref: `#/$defs/${name}` };
}

const SCALARS: Partial<Record<ScalarType, JsonSchema>> = {
  [ScalarType.STRING]: { type: 'string' },
  [ScalarType.BOOL]: { type: 'boolean' },
  [ScalarType.INT32]: { type: 'integer' },
  // Proto3 JSON writes 64-bit integers as strings.
  [ScalarType.INT64]: { type: 'string', pattern: '^-?[0-9]+$' },
};

function scalarSchema(scalar: ScalarType): JsonSchema {
  const schema = SCALARS[scalar];
  if (schema === undefined) throw new Error(`no schema for ${ScalarType[scalar]}`);
  return schema;
}
