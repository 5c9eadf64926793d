// Converts messages of the contract to JSON Schema, with their rules and comments.
import {
  type DescField,
  type DescMessage,
  getExtension,
  getOption,
  hasExtension,
  isFieldSet,
  ScalarType,
} from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import {
  field as fieldRules,
  type StringRules,
  StringRulesSchema,
} from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import { patternOf } from '../../core/rpc/interceptors/validation.ts';
import { file_hub_validate_v1_rules } from '../../gen/hub/validate/v1/rules_pb.ts';
import type { JsonSchema, ResponseShape } from '../routes/openapi-operation.ts';
import type { Comments } from './comments.ts';
import type { Components } from './components.ts';

export type Parts = { readonly components: Components; readonly comments: Comments };

/**
 * Returns the schema of a field's value, with the rules and the comment of the contract.
 * @throws Error if the field has no REST form
 */
export function fieldSchema(field: DescField, parts: Parts): JsonSchema {
  const description = parts.comments.ofField(field);
  return { ...shapeOf(field, parts), ...keywordsOf(field), ...(description !== '' && { description }) };
}

/**
 * Whether a request must contain the field. A missing field counts as empty unless the contract tracks
 * presence.
 */
export function isRequired(field: DescField): boolean {
  const { required, type } = getOption(field, fieldRules);
  return (
    required || (type.case === 'string' && type.value.minLen > 0n && field.proto.proto3Optional !== true)
  );
}

/**
 * Returns the schema of a response or of a message in it: the fields of the message and the members the route
 * adds.
 */
export function responseSchema(
  desc: DescMessage | undefined,
  { members = {}, optional = [] }: Pick<ResponseShape, 'members' | 'optional'>,
  parts: Parts,
): JsonSchema {
  const fields = desc?.fields ?? [];
  const own = fields.flatMap((field) =>
    field.jsonName in members ? [] : [[field.jsonName, fieldSchema(field, parts)] as const],
  );
  // A member that replaces a field takes over the field's comment.
  const given = Object.entries(members).map(([name, schema]) => {
    const field = fields.find(({ jsonName }) => jsonName === name);
    const description = field === undefined || 'title' in schema ? '' : parts.comments.ofField(field);
    return [
      name,
      { ...(description !== '' && { description }), ...parts.components.schema(schema) },
    ] as const;
  });
  const properties = Object.fromEntries([...given, ...own]);
  const unknown = optional.filter((name) => !(name in properties));
  if (unknown.length > 0) throw new Error(`a response has no member ${unknown.join(', ')}`);
  return parts.components.schema({
    ...(desc && { title: desc.name }),
    type: 'object',
    properties,
    required: Object.keys(properties).filter((name) => !optional.includes(name)),
  });
}

const INTEGER: JsonSchema = { type: 'integer', format: 'int32' };
/** REST writes 64-bit integers as numbers; the contract limits them to the exact range. */
const SAFE_INTEGER: JsonSchema = {
  type: 'integer',
  format: 'int64',
  minimum: Number.MIN_SAFE_INTEGER,
  maximum: Number.MAX_SAFE_INTEGER,
};
const SCALARS: Partial<Record<ScalarType, JsonSchema>> = {
  [ScalarType.STRING]: { type: 'string' },
  [ScalarType.BOOL]: { type: 'boolean' },
  [ScalarType.INT32]: INTEGER,
  [ScalarType.INT64]: SAFE_INTEGER,
};

function shapeOf(field: DescField, parts: Parts): JsonSchema {
  switch (field.fieldKind) {
    case 'scalar':
      return scalar(field, field.scalar);
    case 'message':
      return field.message.typeName === TimestampSchema.typeName
        ? { type: 'string', format: 'date-time' }
        : responseSchema(field.message, {}, parts);
    case 'list':
      if (field.listKind === 'message') {
        return { type: 'array', items: responseSchema(field.message, {}, parts) };
      }
      break;
    case 'map':
      if (field.mapKind === 'scalar') {
        return { type: 'object', additionalProperties: scalar(field, field.scalar) };
      }
      break;
  }
  throw new Error(`say in the route what ${field.parent.typeName}.${field.name} is in REST`);
}

function scalar(field: DescField, type: ScalarType): JsonSchema {
  const schema = SCALARS[type];
  if (schema === undefined)
    throw new Error(`${field.parent.typeName}.${field.name}: no schema for ${ScalarType[type]}`);
  return schema;
}

function keywordsOf(field: DescField): JsonSchema {
  const { type } = getOption(field, fieldRules);
  if (type.case === undefined) return {};
  if (type.case !== 'string')
    throw new Error(`${field.parent.typeName}.${field.name}: no schema for its rules`);
  return textKeywords(type.value);
}

const { minLen, maxLen, notContains } = StringRulesSchema.field;

/**
 * Returns the keywords for rules on text. Both languages count lengths in characters.
 * @throws Error for a rule without a JSON Schema keyword
 */
export function textKeywords(rules: StringRules): JsonSchema {
  const isSet = (rule: DescField): boolean => isFieldSet(rules, rule);
  const others = StringRulesSchema.fields
    .filter(isSet)
    .filter((rule) => ![minLen, maxLen, notContains].includes(rule));
  if (others.length > 0) throw new Error(`no keyword for the rule ${others.map(({ name }) => name).join()}`);
  const patterns = [
    ...file_hub_validate_v1_rules.extensions.flatMap((rule) => {
      if (!hasExtension(rules, rule) || getExtension(rules, rule) !== true) return [];
      const pattern = patternOf(rule);
      if (pattern === undefined) throw new Error(`no pattern in the rule ${rule.name}`);
      return [portable(pattern.regExp.source)];
    }),
    ...(rules.notContains === '' ? [] : [`^[^${escaped(rules.notContains)}]*$`]),
  ];
  const [pattern, ...more] = patterns;
  if (more.length > 0 || rules.notContains.length > 1)
    throw new Error('no keyword for so many rules on one text');
  return {
    ...(isSet(minLen) && { minLength: Number(rules.minLen) }),
    ...(isSet(maxLen) && { maxLength: Number(rules.maxLen) }),
    ...(pattern !== undefined && { pattern }),
  };
}

/** Character classes by code point: not every regular expression engine supports Unicode classes. */
const CLASSES: { readonly [name: string]: string } = {
  '\\p{Cc}': '\\u0000-\\u001f\\u007f-\\u009f',
  '\\p{Zl}': '\\u2028',
  '\\p{Zp}': '\\u2029',
};

/** Returns the same pattern in ASCII. @throws Error for an unknown character class */
function portable(pattern: string): string {
  return pattern
    .replace(/\\[pP]\{\w+\}/g, (name) => {
      const points = CLASSES[name];
      if (points === undefined) throw new Error(`say which characters ${name} are`);
      return points;
    })
    .replace(/[^ -~]/g, escaped);
}

export function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
