// Shapes of what hubctl prints as JSON: JSON Schemas that the types of the views, the manual and the tests are made from.

/** A JSON Schema (2020-12) of values of the type T. */
export type Shape<T = unknown> = Schema & {
  /** Never there: it carries the type. */
  readonly typeOf?: () => T;
};

/** The type of the values of a shape. */
export type Of<S> = S extends Shape<infer T> ? T : never;

export type Schema = {
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array' | 'null';
  /** What the manual calls an object, which it describes once. */
  readonly title?: string;
  readonly description?: string;
  /** Where there is no description: the field of the contract whose comment is one, as `hub.license.v1.License.licenseId`. */
  readonly field?: string;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  /** Whether it may be missing from its object. */
  readonly optional?: boolean;
  /** Of an object: the message of the contract that it shows. */
  readonly message?: string;
  /** Of that message: fields that are not shown under their own names. */
  readonly without?: readonly string[];
};

type Optional<T> = Shape<T> & { readonly optional: true };
type Fields = Readonly<Record<string, Shape>>;
type ValueOf<F extends Fields> = {
  readonly [K in keyof F as F[K] extends { optional: true } ? never : K]: Of<F[K]>;
} & {
  readonly [K in keyof F as F[K] extends { optional: true } ? K : never]?: Of<F[K]>;
};
export type ObjectShape<F extends Fields> = Shape<{ readonly [K in keyof ValueOf<F>]: ValueOf<F>[K] }> & {
  readonly properties: F;
};

/** @param origin The message it shows, where it shows one; that says what members without a description are. */
export function object<F extends Fields>(
  title: string,
  properties: F,
  origin: { readonly message?: string; readonly without?: readonly string[] } = {},
): ObjectShape<F> {
  const required = Object.keys(properties).filter((name) => properties[name]?.optional !== true);
  const explained = Object.entries(properties).map(([name, shape]) =>
    shape.description !== undefined || shape.field !== undefined || origin.message === undefined
      ? [name, shape]
      : [name, { ...shape, field: `${origin.message}.${name}` }],
  );
  return {
    type: 'object',
    title,
    properties: Object.fromEntries(explained), // the same members of the same types
    required,
    additionalProperties: false,
    ...origin,
  };
}

/** A member that may be missing. */
export function optional<T>(shape: Shape<T>): Optional<T> {
  return { ...shape, optional: true };
}

/** The same shape with something else to say of it. */
export function described<T>(shape: Shape<T>, description: string): Shape<T> {
  return { ...shape, description };
}

export function text(description?: string): Shape<string> {
  return { type: 'string', ...about(description) };
}

/** @param prefix Of the id: `lic` */
export function id(prefix: string, description?: string): Shape<string> {
  return { type: 'string', pattern: `^${prefix}_[0-9a-z]{26}$`, ...about(description) };
}

/** RFC 3339 in UTC with milliseconds. */
export function time(description?: string): Shape<string> {
  return { type: 'string', pattern: TIME, ...about(description) };
}
export const TIME = '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$';

/** A whole number that a JSON number holds exactly. */
export function integer(description?: string): Shape<number> {
  return { type: 'integer', ...about(description) };
}

export function number(description?: string): Shape<number> {
  return { type: 'number', ...about(description) };
}

export function boolean(description?: string): Shape<boolean> {
  return { type: 'boolean', ...about(description) };
}

/** One of these words. A hub that is newer than hubctl may say more: they are shown as `unknown`. */
export function word(words: Readonly<Record<string, number>>, description?: string): Shape<string> {
  return { type: 'string', enum: [...Object.keys(words), 'unknown'], ...about(description) };
}

/** One of exactly these words. */
export function oneOf<const W extends string>(words: readonly W[], description?: string): Shape<W> {
  return { type: 'string', enum: words, ...about(description) };
}

export function list<T>(items: Shape<T>, description?: string): Shape<readonly T[]> {
  return { type: 'array', items, ...about(description) };
}

/** An object whose member names are data. */
export function map<T>(values: Shape<T>, description?: string): Shape<Record<string, T>> {
  return { type: 'object', additionalProperties: values, ...about(description) };
}

/** An object of which nothing is promised. */
export function facts(description?: string): Shape<object> {
  return { type: 'object', ...about(description) };
}

export function nullable<T>(shape: Shape<T>, description?: string): Shape<T | null> {
  return { anyOf: [shape, { type: 'null' }], ...about(description) };
}

/** One or the other, as the description says. */
export function either(shapes: readonly Shape[], description: string): Shape {
  return { anyOf: shapes, description };
}

function about(description: string | undefined): { readonly description?: string } {
  return description === undefined ? {} : { description };
}
