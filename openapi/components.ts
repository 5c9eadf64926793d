// What the document says once, by name: schemas and responses.
import type { JsonSchema } from '../gateway/operation.ts';

export type Components = {
  /** A reference to the schema if it has a title, which is its name here; else the schema as it is. */
  schema(schema: JsonSchema): JsonSchema;
  /** A reference to the response of that name. */
  response(name: string, response: JsonSchema): JsonSchema;
  readonly schemas: { readonly [name: string]: JsonSchema };
  readonly responses: { readonly [name: string]: JsonSchema };
};

export function createComponents(): Components {
  const schemas: Record<string, JsonSchema> = {};
  const responses: Record<string, JsonSchema> = {};
  return {
    schema(whole) {
      const { title, ...schema } = whole;
      return typeof title === 'string' ? place('schemas', schemas, title, schema) : whole;
    },
    response: (name, response) => place('responses', responses, name, response),
    schemas,
    responses,
  };
}

function place(kind: string, among: Record<string, JsonSchema>, name: string, what: JsonSchema): JsonSchema {
  const known = among[name];
  if (known !== undefined && JSON.stringify(known) !== JSON.stringify(what)) {
    throw new Error(`two of the ${kind} are called ${name}`);
  }
  among[name] = what;
  return { $ref: `#/components/${kind}/${name}` };
}
