// Lists the JSON objects that commands print, with the members and their descriptions.
import { type Schema, TIME } from '../../cli/views/schema.ts';

export type Member = { readonly name: string; readonly type: string; readonly meaning: string };
export type JsonObject = { readonly title: string; readonly members: readonly Member[] };

/** The comment on a field of the contract: `hub.license.v1.License.keyHint`. @throws Error if there is none */
export type CommentOf = (field: string) => string;

/** All objects of the schemas, by title. @throws Error if two different objects have the same title */
export function jsonObjects(schemas: readonly Schema[], commentOf: CommentOf): JsonObject[] {
  const found = new Map<string, Schema>();
  const visit = (schema: Schema): void => {
    if (schema.title !== undefined) {
      const before = found.get(schema.title);
      if (before !== undefined && shapeOf(before) !== shapeOf(schema)) {
        throw new Error(`two different objects have the title ${schema.title}`);
      }
      found.set(schema.title, schema);
    }
    for (const part of partsOf(schema)) visit(part);
  };
  schemas.forEach(visit);
  return [...found]
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([title, { properties = {} }]) => ({
      title,
      members: Object.entries(properties).map(([name, schema]) => ({
        name: schema.optional ? `${name}?` : name,
        type: typeOf(schema),
        meaning: meaningOf(name, schema, commentOf),
      })),
    }));
}

/** `time`, `array of [License](#license)` */
export function typeOf(schema: Schema): string {
  const { type, title, pattern, items, additionalProperties } = schema;
  if (title !== undefined) return `[${title}](#${title.toLowerCase()})`;
  if (schema.enum) return schema.enum.map((word) => `\`${word}\``).join(', ');
  if (schema.anyOf) return schema.anyOf.map(typeOf).join(' or ');
  if (items) return `array of ${typeOf(items)}`;
  if (typeof additionalProperties === 'object') return `object of ${typeOf(additionalProperties)}`;
  if (pattern === TIME) return 'time';
  const [, prefix] = /^\^([a-z]+_)\[/.exec(pattern ?? '') ?? [];
  if (prefix !== undefined) return `\`${prefix}…\``;
  return type === 'string' ? 'string' : (type ?? 'any');
}

function meaningOf(name: string, { description, field }: Schema, commentOf: CommentOf): string {
  if (description !== undefined) return sentence(description);
  if (field === undefined) return '';
  const comment = commentOf(field);
  if (comment === '') throw new Error(`${name}: there is no comment on ${field}`);
  return sentence(comment);
}

/** `The day.` */
function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1).replace(/[.]?$/, '.')}`;
}

function partsOf({ properties, items, anyOf, additionalProperties }: Schema): Schema[] {
  return [
    ...Object.values(properties ?? {}),
    ...(items ? [items] : []),
    ...(anyOf ?? []),
    ...(typeof additionalProperties === 'object' ? [additionalProperties] : []),
  ];
}

/** Compares objects without the description that each use may have. */
function shapeOf({ description: _, optional: _o, field: _f, ...schema }: Schema): string {
  return JSON.stringify(schema);
}
