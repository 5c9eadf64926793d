// Builds the components of the OpenAPI document: named schemas and responses.
import type { JsonSchema } from '../routes/openapi-operation.ts';

export type Components = ReturnType<typeof createComponents>;

export function createComponents() {
  const schemas: Record<string, JsonSchema> = {};
  const responses: Record<string, JsonSchema> = {};
  return {
    /** Returns a reference to a schema with a title, which is its component name; other schemas unchanged. */
    schema(whole: JsonSchema): JsonSchema {
      const { title, ...schema } = whole;
      return typeof title === 'string' ? place('schemas', schemas, title, schema) : whole;
    },
    /** Returns a reference to the response component of that name. */
    response: (name: string, response: JsonSchema): JsonSchema =>
      place('responses', responses, name, response),
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
