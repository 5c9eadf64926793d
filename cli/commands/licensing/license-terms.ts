// hubctl license update, renew: change the terms of one license, or of all that match a filter.
import { randomUUID } from 'node:crypto';
import type { MessageInitShape } from '@bufbuild/protobuf';
import { type Command, Option } from 'commander';
import type { RenewLicenseRequestSchema } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { type CalendarPeriod, periodText } from '../../../lib/presentation/calendar.ts';
import type { CommandContext } from '../../command-context.ts';
import { addVerb } from '../../command-help.ts';
import { usageError } from '../../errors/failure.ts';
import { omitUndefined } from '../../parse/omit-undefined.ts';
import { parseExpiry, parseLastDay } from '../../parse/parse-expiry.ts';
import {
  parseCount,
  parseCountOrZero,
  parseLimit,
  parsePair,
  parseSeats,
  parseText,
} from '../../parse/parse-number.ts';
import { parsePeriod } from '../../parse/parse-period.ts';
import { parseLeaseDays, parseNames } from '../../parse/parse-terms.ts';
import { timestampOf } from '../../parse/parse-time.ts';
import {
  LICENSE,
  LICENSE_FIELDS,
  licenseView,
  UPDATED_LICENSE,
  UPDATED_LICENSE_FIELDS,
} from '../../views/licensing/license.ts';
import { addMany, changeMany, isForMany, type ManyOptions, printsOneOrMany } from './change-many.ts';

type Once = { readonly idempotencyKey?: string; readonly expectedVersion?: number };

type UpdateOptions = ManyOptions &
  Once & {
    readonly seats?: number;
    /** False for --no-profile. */
    readonly profile?: string | false;
    readonly limit?: Record<string, bigint>;
    readonly removeLimit?: readonly string[];
    readonly feature?: readonly string[];
    readonly removeFeature?: readonly string[];
    /** `never` removes the expiry. */
    readonly expires?: Date | 'never';
    readonly graceDays?: number;
    readonly leaseDays?: number;
    readonly metadata?: Record<string, string>;
    readonly removeMetadata?: readonly string[];
    readonly signMetadata?: readonly string[];
  };

type RenewOptions = ManyOptions & Once & { readonly by?: CalendarPeriod; readonly to?: Date };

const EXAMPLE_ID = 'lic_01k8e7qk3vf2tb5s0w9m4x6ydz';
const MANY =
  'Without a license, the filter chooses the licenses: the command shows how many, asks for confirmation (without a terminal it requires --yes), and goes on after a license that cannot be changed.';

export function addUpdateVerb(license: Command, commandContext: CommandContext): void {
  const { hub, out } = commandContext;
  const update = addVerb(license, 'update', {
    summary: 'change the terms of licenses',
    description:
      'Changes the given terms and keeps the others. Machines get them at their next activation or check. Fewer seats than are taken is allowed: no machine loses its seat, and none gets a new one until there is room.',
    notes: [MANY],
    examples: [
      `hubctl license update ${EXAMPLE_ID} --seats 5 --limit projects=10 --feature export --expires 2027-12-31`,
      'hubctl license update --app photo-lab --state active --feature export --dry-run',
    ],
    prints: { document: printsOneOrMany(UPDATED_LICENSE) },
  }).argument('[licenseId]', 'the license, lic_…');
  addTerms(update);
  addOnce(addMany(update)).action(async (licenseId: string | undefined, options: UpdateOptions) => {
    const change = updateOf(options);
    if (isForMany(licenseId, options) || licenseId === undefined) {
      return changeMany(commandContext, options, {
        verb: 'update',
        done: 'updated',
        ...onceForMany(options),
        change: (id) => hub.admin.updateLicense({ ...change, licenseId: id, ...onceFor(options, id) }),
      });
    }
    const reply = await hub.admin.updateLicense({ ...change, licenseId, ...onceFor(options) });
    const { seatsOverLimit } = reply;
    const view = { ...licenseView(reply.license), seatsOverLimit };
    await out.record(view, UPDATED_LICENSE_FIELDS);
  });
}

function addTerms(update: Command): void {
  update
    .option('--seats <n>', 'machines that can be active at the same time, or unlimited', parseSeats)
    .option('--profile <profile>', 'limit profile to take limits from')
    .option('--no-profile', 'no limit profile')
    .option(
      '--limit <name=value>',
      'limit of the license, which overrides the profile; repeatable',
      parseLimit,
    )
    .option('--remove-limit <name>', 'limit of the license to remove; repeatable', parseNames)
    .option('--feature <name>', 'feature to add; repeatable', parseNames)
    .option('--remove-feature <name>', 'feature to remove; repeatable', parseNames)
    .addOption(
      new Option(
        '--expires <when>',
        'last day, to its end in UTC (2026-12-31), RFC 3339 time, period from now (30d, 6m, 1y), or never',
      ).argParser((text) => (text === 'never' ? text : parseExpiry(text, new Date()))),
    )
    .option('--grace-days <n>', 'days that it stays valid after its expiry', parseCountOrZero)
    .option(
      '--lease-days <n>',
      'days that a signed license is valid without contacting the hub, or none',
      parseLeaseDays,
    )
    .option('--metadata <name=value>', 'entry of your own data to set; repeatable', parsePair)
    .option('--remove-metadata <name>', 'entry of your own data to remove; repeatable', parseNames)
    .option(
      '--sign-metadata <names>',
      'entry of your own data that signed licenses contain; repeatable',
      parseNames,
    );
}

export function addRenewVerb(license: Command, commandContext: CommandContext): void {
  const { hub, out } = commandContext;
  const renew = addVerb(license, 'renew', {
    summary: 'extend licenses',
    description:
      'Extends a license by calendar years, months and days, from the later of now and its expiry, or to a time.',
    notes: [
      MANY,
      'A renewal by a filter derives an idempotency key for each license from --idempotency-key, or from a random one that it prints: a repeated command with it renews no license twice.',
    ],
    examples: [
      `hubctl license renew ${EXAMPLE_ID} --by 1y --idempotency-key invoice-1183`,
      'hubctl license renew --app photo-lab --expires-before 2027-01-01 --by 1y --dry-run',
    ],
    prints: { document: printsOneOrMany(LICENSE) },
  })
    .argument('[licenseId]', 'the license, lic_…')
    .option('--by <period>', 'period: 1y, 6m, 2w, 30d, 1y6m', parsePeriod)
    .addOption(
      new Option('--to <when>', 'last day, to its end in UTC (2026-12-31), or RFC 3339 time')
        .argParser(parseLastDay)
        .conflicts('by'),
    );
  addOnce(addMany(renew)).action(async (licenseId: string | undefined, options: RenewOptions) => {
    const { extension, how } = extensionOf(options);
    if (isForMany(licenseId, options) || licenseId === undefined) {
      const once = { idempotencyKey: randomUUID(), ...onceForMany(options) };
      return changeMany(commandContext, options, {
        verb: 'renew',
        done: 'renewed',
        how,
        ...once,
        change: (id) => hub.admin.renewLicense({ licenseId: id, extension, ...onceFor(once, id) }),
      });
    }
    const reply = await hub.admin.renewLicense({ licenseId, extension, ...onceFor(options) });
    await out.record(licenseView(reply.license), LICENSE_FIELDS);
  });
}

function addOnce(command: Command): Command {
  return command
    .option(
      '--idempotency-key <key>',
      'value of your own, such as an order number: a repeated command with it changes nothing more',
      parseText,
    )
    .option(
      '--expected-version <n>',
      'refuse the change if the license has another terms version',
      parseCount,
    );
}

/** For one of many licenses the key contains its id. */
function onceFor({ idempotencyKey, expectedVersion }: Once, licenseId?: string) {
  return {
    ...(idempotencyKey !== undefined && {
      idempotencyKey: licenseId === undefined ? idempotencyKey : `${idempotencyKey}:${licenseId}`,
    }),
    expectedTermsVersion: expectedVersion,
  };
}

/** @throws CliError (usage) for a version, or for a key that is too long with the id of a license */
function onceForMany({ idempotencyKey, expectedVersion }: Once): Pick<Once, 'idempotencyKey'> {
  if (expectedVersion !== undefined) throw usageError('--expected-version: give the id of one license.');
  if (idempotencyKey === undefined) return {};
  if (idempotencyKey.length > MAX_KEY) {
    throw usageError(`--idempotency-key: give at most ${MAX_KEY} characters with a filter.`);
  }
  return { idempotencyKey };
}

/** The hub takes 128 characters: this key, a colon, and the id of the license (30 characters). */
const MAX_KEY = 97;

/** @throws CliError (usage) without a change */
function updateOf(options: UpdateOptions) {
  const { seats, profile, expires, graceDays, leaseDays } = options;
  const paths = Object.keys(
    omitUndefined({
      seat_limit: seats,
      limit_profile: profile,
      expires_at: expires,
      grace_days: graceDays,
      lease_days: leaseDays,
    }),
  );
  const single = omitUndefined({
    setLimits: options.limit,
    removeLimits: options.removeLimit && [...options.removeLimit],
    addFeatures: options.feature && [...options.feature],
    removeFeatures: options.removeFeature && [...options.removeFeature],
    setMetadata: options.metadata,
    removeMetadata: options.removeMetadata && [...options.removeMetadata],
    signMetadata: options.signMetadata && [...options.signMetadata],
  });
  if (paths.length === 0 && Object.keys(single).length === 0)
    throw usageError('Give a term to change, such as --seats.');
  return {
    ...(paths.length > 0 && { updateMask: { paths } }),
    ...omitUndefined({ seatLimit: seats, graceDays, leaseDays }),
    ...(typeof profile === 'string' && { limitProfile: profile }),
    ...(expires instanceof Date && { expiresAt: timestampOf(expires) }),
    ...single,
  };
}

type Extension = NonNullable<MessageInitShape<typeof RenewLicenseRequestSchema>['extension']>;

/** @throws CliError (usage) without a period and a time */
function extensionOf({ by, to }: RenewOptions): { extension: Extension; how: string } {
  if (by) return { extension: { case: 'by', value: by }, how: `by ${periodText(by)}` };
  if (to) return { extension: { case: 'to', value: timestampOf(to) }, how: `to ${to.toISOString()}` };
  throw usageError('Give --by, such as 1y, or --to.');
}
