// The options that choose licenses, of `license list` and of commands for many licenses.
import { type Command, InvalidArgumentError } from 'commander';
import { LICENSE_STATES } from '../../../lib/presentation/enum-names.ts';
import { readPages } from '../../connect/calls.ts';
import type { Hub } from '../../connect/connection.ts';
import { omitUndefined } from '../../parse/omit-undefined.ts';
import { parsePair, parseText } from '../../parse/parse-number.ts';
import { parseBound, timestampOf } from '../../parse/parse-time.ts';
import { choiceOption } from '../../parse/shared-options.ts';
import { licenseView } from '../../views/licensing/license.ts';

export type FilterOptions = {
  readonly app?: string;
  readonly state?: keyof typeof LICENSE_STATES;
  readonly hint?: string;
  readonly customerId?: string;
  readonly customer?: string;
  readonly customerEmail?: string;
  readonly customerRef?: string;
  readonly withMetadata?: Record<string, string>;
  readonly expiresBefore?: Date;
  readonly expiresAfter?: Date;
  readonly activeSince?: string;
  readonly inactiveSince?: string;
  readonly search?: string;
};

/** Adds the options. A command that changes metadata has an option with that name already. */
export function addFilter(command: Command, metadata: '--metadata' | '--with-metadata'): Command {
  return command
    .option('--app <app>', 'only of this app')
    .addOption(choiceOption('--state <state>', 'only in this state', LICENSE_STATES))
    .option('--hint <symbols>', 'only with a key that ends with these five characters')
    .option('--customer-id <customerId>', 'only of this customer, cus_…')
    .option('--customer <text>', 'only of customers with exactly this name')
    .option('--customer-email <address>', 'only of customers with this email', parseText)
    .option('--customer-ref <text>', 'only of the customer with this external reference', parseText)
    .option(`${metadata} <name=value>`, 'only with this entry of metadata; repeatable', parsePair)
    .option('--expires-before <when>', 'only if it expires before this day (UTC) or time', parseBound)
    .option('--expires-after <when>', 'only if it expires on this day (UTC) or time, or later', parseBound)
    .option('--active-since <day>', 'only if a machine used it on this day (UTC) or later', parseDay)
    .option('--inactive-since <day>', 'only if no machine used it on this day (UTC) or later', parseDay)
    .option(
      '--search <text>',
      'only with this id, key ending, or text in customer or metadata (3 characters or more)',
      parseText,
    );
}

export function readFilter(options: FilterOptions) {
  const { app, state, hint, customerId, customer, customerEmail, customerRef, withMetadata } = options;
  const { expiresBefore, expiresAfter, activeSince, inactiveSince, search } = options;
  return omitUndefined({
    app,
    state: state && LICENSE_STATES[state],
    keyHint: hint,
    customerId,
    customer,
    customerEmail,
    externalRef: customerRef,
    metadata: withMetadata,
    expiresBefore: expiresBefore && timestampOf(expiresBefore),
    expiresAfter: expiresAfter && timestampOf(expiresAfter),
    activeSince,
    inactiveSince,
    search,
  });
}

export function licensePages({ admin }: Pick<Hub, 'admin'>, filter: ReturnType<typeof readFilter>) {
  return readPages(admin.listLicenses, filter, 'licenses', licenseView);
}

/** Parses a day in UTC. @throws InvalidArgumentError */
function parseDay(text: string): string {
  const time = new Date(`${text}T00:00:00Z`);
  if (/^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(time.getTime()) && time.toISOString().startsWith(text))
    return text;
  throw new InvalidArgumentError('Give a day in UTC, such as 2026-12-31.');
}
