// JSON of any message in the contract: within the field rules, at their limits, and outside them.
import { type DescField, type DescMessage, getOption, ScalarType } from '@bufbuild/protobuf';
import {
  type FieldRules,
  field as fieldOption,
  type StringRules,
} from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';
import fc from 'fast-check';
import { oddText } from './odd-values.ts';

/**
 * Words with a meaning for the hub under test, by the JSON name of their field or map key. The words of a map
 * are maps in JSON.
 */
export type Words = { readonly [field: string]: readonly string[] };

/** The words for the first of these names that has any. */
export function wordsFor(words: Words, ...names: readonly string[]): readonly string[] {
  const known = names.find((name) => Object.hasOwn(words, name));
  return known === undefined ? [] : (words[known] ?? []);
}

/** The words without the secrets, because some responses repeat the request. */
export function publicWords({
  licenseKey: _,
  credentials: __,
  'credentials.value': ___,
  ...words
}: Words): Words {
  return words;
}

type Json = fc.JsonValue;

/** `good`: values that the field's rules allow. `odd`: any other value that a message's JSON can contain. */
type Values = { readonly good: fc.Arbitrary<Json>; readonly odd: fc.Arbitrary<Json> };

/** Mostly values that the rules allow, often with one odd field, occasionally with only odd fields. */
export function messageJson(message: DescMessage, words: Words): fc.Arbitrary<Json> {
  const members = message.fields.map((field) => ({ field, ...fieldValues(field, words, 0) }));
  const shaped = (isOdd: (field: DescField) => boolean) =>
    record(members.map(({ field, good, odd }) => ({ field, value: isOdd(field) ? odd : good })));
  const healthy = shaped(() => false);
  return fc.oneof(
    { weight: 6, arbitrary: healthy },
    {
      weight: 3,
      arbitrary:
        members.length === 0
          ? healthy
          : fc.oneof(...message.fields.map((field) => shaped((each) => each === field))),
    },
    { weight: 1, arbitrary: shaped(() => true) },
  );
}

/** Sometimes omits optional members. A oneof has one member at most. */
function record(members: readonly { field: DescField; value: fc.Arbitrary<Json> }[]): fc.Arbitrary<Json> {
  const groups = Map.groupBy(members, ({ field }) => field.oneof ?? field);
  const parts = [...groups.values()].map((group) => {
    const given = group.map(({ field, value }) =>
      value.map((each): [string, Json][] => [[field.jsonName, each]]),
    );
    const isOptional = group.some(({ field }) => field.oneof !== undefined || !isWanted(field));
    return isOptional
      ? fc.oneof({ weight: 2, arbitrary: fc.oneof(...given) }, { weight: 1, arbitrary: fc.constant([]) })
      : fc.oneof(...given);
  });
  return fc.tuple(...parts).map((entries) => Object.fromEntries(entries.flat()));
}

function isWanted(field: DescField): boolean {
  const { required, type } = rulesOf(field) ?? {};
  return required === true || (type?.case === 'string' && field.fieldKind === 'scalar');
}

function rulesOf(field: DescField): FieldRules | undefined {
  return getOption(field, fieldOption);
}

function fieldValues(field: DescField, words: Words, depth: number): Values {
  const rules = rulesOf(field);
  switch (field.fieldKind) {
    case 'scalar':
      return scalarValues(field.scalar, rules, wordsFor(words, field.jsonName), words);
    case 'enum': {
      const { type } = rules ?? {};
      const refused: readonly number[] = type?.case === 'enum' ? type.value.notIn : [];
      const known = field.enum.values
        .map(({ number }) => number)
        .filter((number) => !refused.includes(number));
      return {
        good: fc.constantFrom(...known),
        odd: fc.constantFrom<Json>(0, -1, 99, 2 ** 31 - 1, 'NO_SUCH_VALUE', null, 1.5, []),
      };
    }
    case 'message':
      return messageValues(field.message, words, depth);
    case 'list':
      return listValues(field, rules, words, depth);
    case 'map':
      return mapValues(field, rules, words);
  }
}

function listValues(
  field: DescField & { fieldKind: 'list' },
  rules: FieldRules | undefined,
  words: Words,
  depth: number,
): Values {
  const inner = rules?.type.case === 'repeated' ? rules.type.value : undefined;
  const own = wordsFor(words, field.jsonName);
  const items = (): Values => {
    if (field.listKind === 'scalar') return scalarValues(field.scalar, inner?.items, own, words);
    return field.listKind === 'message' ? messageValues(field.message, words, depth) : anything;
  };
  const { good, odd } = items();
  const max = Number(inner?.maxItems || 20n);
  return {
    good: fc.uniqueArray(good, { maxLength: 3, selector: (item) => JSON.stringify(item) }),
    odd: fc.oneof(
      fc.array(odd, { minLength: 1, maxLength: 3 }),
      good.map((item): Json => [item, item]),
      good.map((item): Json => Array.from({ length: max + 1 }, () => item)),
      odd,
    ),
  };
}

const anything: Values = { good: fc.constant(null), odd: fc.jsonValue({ maxDepth: 2 }) };

function messageValues(message: DescMessage, words: Words, depth: number): Values {
  if (message.typeName === 'google.protobuf.Timestamp') return TIMES;
  if (message.typeName.startsWith('google.protobuf.') || depth > 3) return anything;
  const members = message.fields.map((field) => ({ field, ...fieldValues(field, words, depth + 1) }));
  const good = record(members.map(({ field, good: value }) => ({ field, value })));
  const odd = record(members.map(({ field, ...each }) => ({ field, value: fc.oneof(each.good, each.odd) })));
  return { good, odd: fc.oneof({ weight: 4, arbitrary: odd }, { weight: 1, arbitrary: anything.odd }) };
}

const TIMES: Values = {
  good: fc
    .date({
      min: new Date('2020-01-01T00:00:00Z'),
      max: new Date('2040-01-01T00:00:00Z'),
      noInvalidDate: true,
    })
    .map((time) => time.toISOString()),
  odd: fc.constantFrom<Json>(
    '0001-01-01T00:00:00Z',
    '9999-12-31T23:59:59.999999999Z',
    '1969-12-31T23:59:59Z',
    '2026-02-30T00:00:00Z',
    '2026-01-01T00:00:00+14:00',
    '10000-01-01T00:00:00Z',
    'now',
    '',
    0,
    null,
    {},
  ),
};

function scalarValues(
  type: ScalarType,
  rules: FieldRules | undefined,
  own: readonly string[],
  words: Words,
): Values {
  switch (type) {
    case ScalarType.STRING:
      return textValues(rules?.type.case === 'string' ? rules.type.value : undefined, own, words);
    case ScalarType.BOOL:
      return { good: fc.boolean(), odd: fc.constantFrom<Json>('true', 0, null) };
    case ScalarType.BYTES:
      return { good: fc.base64String({ maxLength: 40 }), odd: fc.constantFrom<Json>('*', 1, '====') };
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return { good: fc.integer(), odd: fc.constantFrom<Json>('Infinity', 'NaN', 1e308, '') };
    default:
      return wholeValues(type, rules);
  }
}

const WIDE: readonly ScalarType[] = [
  ScalarType.INT64,
  ScalarType.SINT64,
  ScalarType.SFIXED64,
  ScalarType.UINT64,
  ScalarType.FIXED64,
];

/** Integers at the limits of the rules, one beyond them, and at the limits of the type. */
function wholeValues(type: ScalarType, rules: FieldRules | undefined): Values {
  const isWide = WIDE.includes(type);
  const typeMax = isWide ? 2n ** 63n - 1n : 2n ** 31n - 1n;
  const drawn = rules?.type.case === 'int32' || rules?.type.case === 'int64' ? rules.type.value : undefined;
  const min = BigInt(drawn?.greaterThan.value ?? 0);
  const max = BigInt(drawn?.lessThan.value ?? typeMax);
  const written = (number: bigint): Json => (isWide ? `${number}` : Number(number));
  return {
    good: fc.oneof(
      fc.bigInt({ min, max: min + 20_000n < max ? min + 20_000n : max }).map(written),
      fc.constantFrom(written(min), written(max)),
    ),
    odd: fc.constantFrom<Json>(
      written(min - 1n),
      written(max + 1n),
      written(-typeMax - 1n),
      written(typeMax),
      '',
      '1e3',
      1.5,
      'x',
      null,
    ),
  };
}

function textValues(rules: StringRules | undefined, own: readonly string[], words: Words): Values {
  const min = Number(rules?.minLen ?? 0n);
  const max = Number(rules?.maxLen || 200n);
  const plain = fc.string({ minLength: min, maxLength: Math.min(max, min + 30) });
  // Names, versions and slugs. Some of these match any required pattern.
  const shaped = fc.oneof(
    fc.stringMatching(/^[a-z][a-z0-9]{0,12}$/),
    fc.stringMatching(/^[0-9]{1,3}(\.[0-9]{1,3}){0,2}$/),
  );
  const good =
    own.length > 0
      ? fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...own) }, { weight: 1, arbitrary: shaped })
      : fc.oneof(plain, shaped);
  const border = fc.constantFrom('x'.repeat(min), 'x'.repeat(max), 'x'.repeat(max + 1), '😀'.repeat(max));
  const misplaced = fc.constantFrom(...Object.values(publicWords(words)).flat());
  const wrongType = fc.constantFrom<Json>(null, 0, true, [], {});
  return { good, odd: fc.oneof<fc.Arbitrary<Json>[]>(oddText, border, misplaced, oddText, wrongType) };
}

function mapValues(
  field: DescField & { fieldKind: 'map' },
  rules: FieldRules | undefined,
  words: Words,
): Values {
  const inner = rules?.type.case === 'map' ? rules.type.value : undefined;
  const keys = wordsFor(words, `${field.jsonName}.key`);
  const key = keys.length > 0 ? fc.constantFrom(...keys) : fc.stringMatching(/^[a-z][a-z0-9.]{0,9}$/);
  const valuesOf = (name: string): Values => {
    if (field.mapKind !== 'scalar') return anything;
    return scalarValues(field.scalar, inner?.values, wordsFor(words, name, `${field.jsonName}.value`), words);
  };
  const entries = (names: readonly string[], part: keyof Values) =>
    fc
      .tuple(...names.map((name) => valuesOf(name)[part].map((value): [string, Json] => [name, value])))
      .map((each): Json => Object.fromEntries(each));
  const max = Number(inner?.maxPairs || 20n);
  const tooMany: Json = Object.fromEntries(
    Array.from({ length: max + 1 }, (_, index) => [`name${index}`, '1']),
  );
  const whole = wordsFor(words, field.jsonName).map((text): Json => JSON.parse(text));
  const some = fc.uniqueArray(key, { maxLength: 8 }).chain((names) => entries(names, 'good'));
  return {
    good:
      whole.length === 0
        ? some
        : fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...whole) }, { weight: 1, arbitrary: some }),
    odd: fc.oneof(
      fc.uniqueArray(key, { minLength: 1, maxLength: 4 }).chain((names) => entries(names, 'odd')),
      fc
        .tuple(oddText, fc.oneof(valuesOf('').good, valuesOf('').odd))
        .map(([name, value]): Json => ({ [name]: value })),
      fc.constant(tooMany),
      anything.odd,
    ),
  };
}
