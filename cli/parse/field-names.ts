// Maps request fields to a command's options and arguments, so that the hub's field errors can name them.
import type { Argument, Command, Option } from 'commander';

/** An option (`--seats`) or argument (`licenseId`) that sets a request field, with its value. */
export type Given = {
  readonly name: string;
  readonly isOption: boolean;
  readonly value: unknown;
  /** Its placeholder in angle brackets. */
  readonly kind: string;
};

/**
 * Finds the option or argument of a `field` path such as `customer.email`. Undefined for a field that the
 * command sets itself.
 */
export function givenFor(command: Command, field: string): Given | undefined {
  const innermost = innermostOf(field);
  const joined = field.replace(/\.(\w)/g, (_, letter: string) => letter.toUpperCase());
  const names = [joined, TYPED_AS[innermost] ?? innermost];
  const option =
    command.options.find((each) => names.includes(each.attributeName())) ??
    (innermost === 'catalogPrices'
      ? command.options.find((each) => isCatalogPrice(command, each))
      : undefined);
  if (option?.long) {
    const value: unknown = command.getOptionValue(option.attributeName());
    return { name: option.long, isOption: true, value, kind: kindOf(option) };
  }
  const index = command.registeredArguments.findIndex((argument) =>
    [innermost, ...names, innermost === 'name' ? 'profile' : ''].includes(argument.name()),
  );
  const argument = command.registeredArguments[index];
  if (argument === undefined) return undefined;
  const value: unknown = command.processedArgs[index];
  return { name: argument.name(), isOption: false, value, kind: kindOf(argument) };
}

/** Whether it names prices in the catalog of a gateway: each gateway with a catalog has an option of its own. */
function isCatalogPrice(command: Command, option: Option): boolean {
  const name = option.attributeName();
  return /^(?!remove)\w+Price$/.test(name) && command.getOptionValue(name) !== undefined;
}

/** The placeholder in angle brackets: `app` of `--app <app>`. */
export function kindOf(target: Option | Argument): string {
  if (!('flags' in target)) return target.name();
  return /<(.+?)>/.exec(target.flags)?.[1] ?? '';
}

/** The values of a command's options and arguments by placeholder. */
export function givenByKind(command: Command): Record<string, string> {
  const options = command.options.map((option): [string, unknown] => [
    kindOf(option),
    command.getOptionValue(option.attributeName()),
  ]);
  const operands = command.registeredArguments.map((argument, index): [string, unknown] => [
    kindOf(argument),
    command.processedArgs[index],
  ]);
  const texts = [...options, ...operands].flatMap(([kind, value]) =>
    typeof value === 'string' ? [[kind, value]] : [],
  );
  return Object.fromEntries(texts);
}

/** The last part of a path: `validFrom` of `rule.validFrom`. */
export function innermostOf(field: string): string {
  return field.slice(field.lastIndexOf('.') + 1);
}

/** Options and arguments whose name differs from their request field. */
const TYPED_AS: Readonly<Record<string, string>> = {
  seatLimit: 'seats',
  limits: 'limit',
  limitProfile: 'profile',
  expiresAt: 'expires',
  keyHint: 'hint',
  externalRef: 'customerRef',
  setLimits: 'limit',
  removeLimits: 'removeLimit',
  addFeatures: 'feature',
  removeFeatures: 'removeFeature',
  setMetadata: 'metadata',
  signedMetadata: 'signMetadata',
  expectedTermsVersion: 'expectedVersion',
  apps: 'app',
  slots: 'slot',
  pageSize: 'max',
  orderReference: 'order',
  sessionId: 'session',
  minorUnits: 'amount',
  createdFrom: 'from',
  createdTo: 'to',
  settledFrom: 'from',
  settledTo: 'to',
  credentials: 'credentialsFile',
  options: 'option',
  fixedMinorUnits: 'fixed',
  minMinorUnits: 'minFee',
  maxMinorUnits: 'maxFee',
  validFrom: 'from',
  validTo: 'to',
  afterSeq: 'after',
  endpointId: 'endpoint',
  events: 'event',
  types: 'type',
  prices: 'price',
  licenseId: 'license',
  order: 'orderId',
  subject: 'subjectLine',
  text: 'textFile',
  html: 'htmlFile',
};
