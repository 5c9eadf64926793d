// JSON Schemas of hubctl's JSON output. The types of the views, the manual and the tests derive from them.

/** A JSON Schema (2020-12) of values of the type T. */
export type TypedSchema<T = unknown> = Schema & {
  /** Never present at run time: it carries the type. */
  readonly typeOf?: () => T;
};

/** The type of the values that a schema describes. */
export type ValueOf<S> = S extends TypedSchema<infer T> ? T : never;

export type Schema = {
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array' | 'null';
  /** Name of an object type; the manual describes each one once. */
  readonly title?: string;
  readonly description?: string;
  /**
   * Source of the description where there is none: the comment of this contract field, such as
   * `hub.license.v1.License.licenseId`.
   */
  readonly field?: string;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  /** Whether the member may be missing from its object. */
  readonly optional?: boolean;
  /** For an object: the contract message that it shows. */
  readonly message?: string;
  /** Fields of that message that are not shown under their own names. */
  readonly without?: readonly string[];
};

type Optional<T> = TypedSchema<T> & { readonly optional: true };
type Fields = Readonly<Record<string, TypedSchema>>;
type MembersOf<F extends Fields> = {
  readonly [K in keyof F as F[K] extends { optional: true } ? never : K]: ValueOf<F[K]>;
} & {
  readonly [K in keyof F as F[K] extends { optional: true } ? K : never]?: ValueOf<F[K]>;
};
export type ObjectSchema<F extends Fields> = TypedSchema<{
  readonly [K in keyof MembersOf<F>]: MembersOf<F>[K];
}> & { readonly properties: F };

/**
 * @param origin The contract message that the object shows, if any. Its comments describe members without a
 * description.
 */
export function object<F extends Fields>(
  title: string,
  properties: F,
  origin: { readonly message?: string; readonly without?: readonly string[] } = {},
): ObjectSchema<F> {
  const required = Object.keys(properties).filter((name) => properties[name]?.optional !== true);
  const explained = Object.entries(properties).map(([name, shape]) =>
    shape.description !== undefined || shape.field !== undefined || origin.message === undefined
      ? [name, shape]
      : [name, { ...shape, field: `${origin.message}.${name}` }],
  );
  return {
    type: 'object',
    title,
    properties: Object.fromEntries(explained), // same members, same types
    required,
    additionalProperties: false,
    ...origin,
  };
}

/** A member that may be missing. */
export function optional<T>(shape: TypedSchema<T>): Optional<T> {
  return { ...shape, optional: true };
}

/** Returns the schema with another description. */
export function withDescription<T>(shape: TypedSchema<T>, description: string): TypedSchema<T> {
  return { ...shape, description };
}

export function text(description?: string): TypedSchema<string> {
  return { type: 'string', ...about(description) };
}

/** @param prefix Prefix of the id: `lic` */
export function id(prefix: string, description?: string): TypedSchema<string> {
  return { type: 'string', pattern: `^${prefix}_[0-9a-z]{26}$`, ...about(description) };
}

/** RFC 3339 time in UTC with milliseconds. */
export function time(description?: string): TypedSchema<string> {
  return { type: 'string', pattern: TIME, ...about(description) };
}
export const TIME = '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$';

/** An integer that a JSON number holds exactly. */
export function integer(description?: string): TypedSchema<number> {
  return { type: 'integer', ...about(description) };
}

export function number(description?: string): TypedSchema<number> {
  return { type: 'number', ...about(description) };
}

export function boolean(description?: string): TypedSchema<boolean> {
  return { type: 'boolean', ...about(description) };
}

/** One of these words, or `unknown` for a value of a newer hub. */
export function word(words: Readonly<Record<string, number>>, description?: string): TypedSchema<string> {
  return { type: 'string', enum: [...Object.keys(words), 'unknown'], ...about(description) };
}

/** One of exactly these words. */
export function oneOf<const W extends string>(words: readonly W[], description?: string): TypedSchema<W> {
  return { type: 'string', enum: words, ...about(description) };
}

export function list<T>(items: TypedSchema<T>, description?: string): TypedSchema<readonly T[]> {
  return { type: 'array', items, ...about(description) };
}

/** An object whose member names are data. */
export function map<T>(values: TypedSchema<T>, description?: string): TypedSchema<Record<string, T>> {
  return { type: 'object', additionalProperties: values, ...about(description) };
}

/** An object whose members are unspecified. */
export function facts(description?: string): TypedSchema<object> {
  return { type: 'object', ...about(description) };
}

export function nullable<T>(shape: TypedSchema<T>, description?: string): TypedSchema<T | null> {
  return { anyOf: [shape, { type: 'null' }], ...about(description) };
}

/** A value of any of the schemas; the description tells them apart. */
export function either(shapes: readonly TypedSchema[], description: string): TypedSchema {
  return { anyOf: shapes, description };
}

function about(description: string | undefined): { readonly description?: string } {
  return description === undefined ? {} : { description };
}
