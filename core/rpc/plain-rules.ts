// A short way through validation: most messages have only a few texts and numbers, and most requests are good.
import {
  type DescExtension,
  type DescField,
  type DescFile,
  type DescMessage,
  getExtension,
  getOption,
  hasExtension,
  hasOption,
  isFieldSet,
  type Message,
} from '@bufbuild/protobuf';
import {
  type FieldRules,
  FieldRulesSchema,
  field as fieldRules,
  type Int32Rules,
  Int32RulesSchema,
  MapRulesSchema,
  message as messageRules,
  oneof as oneofRules,
  predefined,
  type StringRules,
  StringRulesSchema,
} from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js';

/** Whether a value certainly keeps the rules. False says nothing: the validator has to look. */
type Certain = (value: unknown) => boolean;

/** Rules on text by a pattern, such as `!rule || this.matches('^[0-9]+$')`; with an r, backslashes stand for themselves. */
const PATTERN_RULE = /^!rule \|\| this\.matches\((r?)'((?:[^'\\]|\\.)*)'\)$/;
const READ_STRING_RULES = new Set(['min_len', 'max_len', 'not_contains']);
const READ_NUMBER_RULES = new Set(['gte', 'lte']);
const READ_MAP_RULES = new Set(['max_pairs', 'keys', 'values']);

/**
 * Makes the function that says of a message whether it certainly keeps all its rules. It reads length, forbidden parts
 * and patterns of texts, by themselves and in maps, and the range of numbers; of a message with any other rule it is
 * certain of nothing.
 *
 * @param rules the file whose predefined rules are patterns
 */
export function createPlainRules(rules: DescFile): (desc: DescMessage, message: Message) => boolean {
  const patterns = rules.extensions.flatMap((extension) => patternOf(extension) ?? []);
  const compiled = new Map<DescMessage, Certain | undefined>();
  return (desc, message) => {
    if (!compiled.has(desc)) compiled.set(desc, compileMessage(desc, patterns));
    return compiled.get(desc)?.(message) ?? false;
  };
}

type Pattern = { readonly extension: DescExtension; readonly regExp: RegExp };

/** What a predefined rule asks of a text, if that is a pattern, and one that JavaScript reads as CEL does. */
export function patternOf(extension: DescExtension): Pattern | undefined {
  const [rule, ...others] = getOption(extension, predefined).cel;
  const found = PATTERN_RULE.exec(rule?.expression ?? '');
  if (found === null || others.length > 0) return undefined;
  const [, raw, text = ''] = found;
  // Without an r, CEL would read escapes; patterns that have any are left to the validator.
  if (raw === '' && text.includes('\\')) return undefined;
  return { extension, regExp: new RegExp(text, 'u') };
}

function compileMessage(desc: DescMessage, patterns: readonly Pattern[]): Certain | undefined {
  if (hasOption(desc, messageRules) || desc.oneofs.some((oneof) => hasOption(oneof, oneofRules)))
    return undefined;
  const checks = desc.fields.map((field) => ({ field, check: compileField(field, patterns) }));
  if (checks.some(({ check }) => check === undefined)) return undefined;
  return (message) =>
    checks.every(({ field, check }) => {
      const value = (message as Record<string, unknown>)[field.localName]; // a message of this type
      // What has presence and is not there has no rules to keep.
      return value === undefined || (check?.(value) ?? false);
    });
}

function compileField(field: DescField, patterns: readonly Pattern[]): Certain | undefined {
  const isPlain = field.fieldKind === 'scalar' || (field.fieldKind === 'map' && field.mapKind === 'scalar');
  if (!isPlain) return undefined;
  return hasOption(field, fieldRules) ? compileRules(getOption(field, fieldRules), patterns) : () => true;
}

function compileRules(rules: FieldRules, patterns: readonly Pattern[]): Certain | undefined {
  // Besides the rules of its type a field can have others: required, CEL, when to ignore them.
  if (FieldRulesSchema.fields.some((rule) => rule.oneof === undefined && isFieldSet(rules, rule)))
    return undefined;
  if (rules.type.case === 'string') return compileText(rules.type.value, patterns);
  if (rules.type.case === 'int32') return compileNumber(rules.type.value);
  if (rules.type.case !== 'map') return undefined;
  const { maxPairs, keys, values } = rules.type.value;
  if (!isOnlyOf(MapRulesSchema.fields, rules.type.value, READ_MAP_RULES)) return undefined;
  const [key, value] = [keys, values].map((each) => (each ? compileRules(each, patterns) : () => true));
  if (key === undefined || value === undefined) return undefined;
  const most = Number(maxPairs || Number.MAX_SAFE_INTEGER);
  return (map) => {
    const entries = Object.entries(map as Record<string, unknown>);
    return entries.length <= most && entries.every((entry) => key(entry[0]) && value(entry[1]));
  };
}

function compileNumber(rules: Int32Rules): Certain | undefined {
  if (!isOnlyOf(Int32RulesSchema.fields, rules, READ_NUMBER_RULES) || rules.$unknown) return undefined;
  const { greaterThan, lessThan } = rules;
  const least = greaterThan.case === 'gte' ? greaterThan.value : -Infinity;
  const most = lessThan.case === 'lte' ? lessThan.value : Infinity;
  // The other way round they would mean what is outside of them: nothing is certain then.
  return (value) => typeof value === 'number' && value >= least && value <= most;
}

function compileText(rules: StringRules, patterns: readonly Pattern[]): Certain | undefined {
  if (!isOnlyOf(StringRulesSchema.fields, rules, READ_STRING_RULES)) return undefined;
  const own = patterns.filter(({ extension }) => hasExtension(rules, extension));
  if ((rules.$unknown?.length ?? 0) !== own.length) return undefined;
  if (own.some(({ extension }) => getExtension(rules, extension) !== true)) return undefined;
  const { minLen, maxLen, notContains } = rules;
  // Lengths are of characters, which have one or two units each.
  const least = minLen === 1n ? 1 : 2 * Number(minLen);
  const most = isFieldSet(rules, StringRulesSchema.field.maxLen) ? Number(maxLen) : Number.MAX_SAFE_INTEGER;
  return (text) =>
    typeof text === 'string' &&
    text.length >= least &&
    text.length <= most &&
    (notContains === '' || !text.includes(notContains)) &&
    own.every(({ regExp }) => regExp.test(text));
}

function isOnlyOf(fields: readonly DescField[], rules: Message, read: ReadonlySet<string>): boolean {
  return fields.every((field) => read.has(field.name) || !isFieldSet(rules, field));
}
