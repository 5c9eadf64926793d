// JSON Schemas of hubctl's JSON output. The types of the views, the manual and the tests derive from them, and
// `viewOf` makes a view from a message of the hub.
import { wordFor } from '../../lib/presentation/enum-names.ts';
import { requireField } from '../connect/calls.ts';
import { limitNumbers, rfc3339 } from './cells.ts';

/** Converts the field of a message to the value that the schema describes. */
const READ = Symbol('read');

/** A JSON Schema (2020-12) of values of the type T. */
export type TypedSchema<T = unknown> = Schema & { readonly [READ]: (field: never) => T };

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
  readonly optional?: boolean;
  /** For an object: the contract message that it shows. */
  readonly message?: string;
  /** Fields of that message that are not shown under their own names. `paidMinorUnits` may be shown as `paid`. */
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

/** An object that shows no message of the contract, or members of several. */
export function object<F extends Fields>(title: string, properties: F): ObjectSchema<F> {
  const required = Object.keys(properties).filter((name) => properties[name]?.optional !== true);
  const schema: ObjectSchema<F> = {
    type: 'object',
    title,
    properties,
    required,
    additionalProperties: false,
    [READ]: (message: object) => membersOf(schema, message),
  };
  return schema;
}

type Origin = { readonly message: string; readonly without: readonly string[] };

/**
 * An object that shows a message of the contract.
 * @param origin The message, whose comments describe members without a description; and its fields that are not shown
 * under their own names.
 */
export function view<F extends Fields>(title: string, origin: string | Origin, members: F): ObjectSchema<F> {
  const { message, ...without } = typeof origin === 'string' ? { message: origin } : origin;
  const explained = Object.entries(members).map(([name, shape]) =>
    shape.description !== undefined || shape.field !== undefined
      ? [name, shape]
      : [name, { ...shape, field: `${message}.${name}` }],
  );
  const properties: F = Object.fromEntries(explained); // same members, same types
  return { ...object(title, properties), message, ...without };
}

/** A member that is missing if the field has no value, or an empty text or list. */
export function optional<T>(shape: TypedSchema<T>): Optional<T> {
  return { ...shape, optional: true };
}

/** A number that is missing if it is zero. */
export function unlessZero(shape: TypedSchema<number>): Optional<number> {
  return {
    ...optional(shape),
    [READ]: (field: never) => shape[READ](field) || undefined,
  } as Optional<number>;
}

export function withDescription<T>(shape: TypedSchema<T>, description: string): TypedSchema<T> {
  return { ...shape, description };
}

export function text(description?: string): TypedSchema<string> {
  return { type: 'string', ...about(description), [READ]: unchanged };
}

/** @param prefix Prefix of the id: `lic` */
export function id(prefix: string, description?: string): TypedSchema<string> {
  return { type: 'string', pattern: `^${prefix}_[0-9a-z]{26}$`, ...about(description), [READ]: unchanged };
}

/** RFC 3339 time in UTC with milliseconds. */
export function time(description?: string): TypedSchema<string> {
  return { type: 'string', pattern: TIME, ...about(description), [READ]: rfc3339 };
}
export const TIME = '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z$';

/** An integer that a JSON number holds exactly. */
export function integer(description?: string): TypedSchema<number> {
  return { type: 'integer', ...about(description), [READ]: Number };
}

export function number(description?: string): TypedSchema<number> {
  return { type: 'number', ...about(description), [READ]: unchanged };
}

export function boolean(description?: string): TypedSchema<boolean> {
  return { type: 'boolean', ...about(description), [READ]: unchanged };
}

/** One of these words, or `unknown` for a value of a newer hub. The field is an enum with these numbers. */
export function word(words: Readonly<Record<string, number>>, description?: string): TypedSchema<string> {
  const read = (field: number) => wordFor(words, field);
  return { type: 'string', enum: [...Object.keys(words), 'unknown'], ...about(description), [READ]: read };
}

/** One of exactly these words. */
export function oneOf<const W extends string>(words: readonly W[], description?: string): TypedSchema<W> {
  return { type: 'string', enum: words, ...about(description), [READ]: unchanged };
}

export function list<T>(items: TypedSchema<T>, description?: string): TypedSchema<readonly T[]> {
  const read = (field: readonly never[]) => field.map((item) => items[READ](item));
  return { type: 'array', items, ...about(description), [READ]: read };
}

/** An object whose member names are data. */
export function map<T>(values: TypedSchema<T>, description?: string): TypedSchema<Record<string, T>> {
  return { type: 'object', additionalProperties: values, ...about(description), [READ]: unchanged };
}

export function limits(description?: string): TypedSchema<Record<string, number>> {
  return { ...map(integer(), description), [READ]: limitNumbers };
}

/** An object whose members are unspecified. */
export function facts(description?: string): TypedSchema<object> {
  return { type: 'object', ...about(description), [READ]: unchanged };
}

export function nullable<T>(shape: TypedSchema<T>, description?: string): TypedSchema<T | null> {
  const read = (field: unknown) => (field == null ? null : shape[READ](field as never));
  return { anyOf: [shape, { type: 'null' }], ...about(description), [READ]: read };
}

/** A value of any of the schemas; the description tells them apart. */
export function either(shapes: readonly TypedSchema[], description: string): TypedSchema {
  return { anyOf: shapes, description, [READ]: unchanged };
}

export function readBy<S extends TypedSchema, F>(shape: S, read: (field: F) => ValueOf<S>): S {
  return { ...shape, [READ]: read };
}

/** The members that a message does not have under their names, or has with other values; undefined if missing. */
export type Own<T> = { readonly [K in keyof T]?: T[K] | undefined };

/** Reports the members that neither the message nor `own` has. */
type Covers<T, M, O> =
  Exclude<keyof T, keyof O | keyof M> extends never
    ? unknown
    : { readonly missing: Exclude<keyof T, keyof O | keyof M> };

/**
 * The view of a message: each member from `own`, or else from the field of its name.
 * @throws Error if the message or a field is missing that the hub always sets
 */
export function viewOf<T extends object, M extends object, O extends Own<T>>(
  schema: TypedSchema<T>,
  message: (M & Covers<T, M, O>) | undefined,
  own?: O,
): T {
  return membersOf(schema, requireField(message, schema.title ?? ''), own);
}

/** Returns the view function of a schema whose members are all fields of the message, with the same names. */
export function viewer<T extends object>(schema: TypedSchema<T>) {
  return <M extends object>(message: (M & Covers<T, M, object>) | undefined): T =>
    membersOf(schema, requireField(message, schema.title ?? ''));
}

function membersOf<T extends object>(
  { properties = {} }: Schema,
  message: Readonly<Record<string, unknown>> | object,
  own: object = {},
): T {
  const members = Object.entries(properties as Fields).flatMap(([name, shape]) => {
    const value = Object.hasOwn(own, name)
      ? (own as Record<string, unknown>)[name]
      : read(shape, name, (message as Record<string, unknown>)[name]);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(members);
}

function read(shape: TypedSchema, name: string, field: unknown): unknown {
  if (shape.optional && isAbsent(shape, field)) return undefined;
  if (shape.anyOf !== undefined) return shape[READ](field as never); // may be null
  return shape[READ](requireField(field, name) as never);
}

/** A contract has 0 for an enum without a value. */
function isAbsent({ enum: words }: Schema, field: unknown): boolean {
  return (
    field === undefined ||
    field === '' ||
    (Array.isArray(field) && field.length === 0) ||
    (words !== undefined && field === 0)
  );
}

function unchanged<T>(field: T): T {
  return field;
}

function about(description: string | undefined): { readonly description?: string } {
  return description === undefined ? {} : { description };
}
