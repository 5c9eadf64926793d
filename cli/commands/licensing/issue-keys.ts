// Issues licenses, and names those whose keys may not have reached the terminal or the file.

import type { CalendarPeriod } from '../../../lib/presentation/calendar.ts';
import { counted } from '../../../lib/presentation/counted.ts';
import type { CommandContext } from '../../command-context.ts';
import { CliError, EXIT, PartialFailure, usageError } from '../../errors/failure.ts';
import { bar } from '../../output/progress.ts';
import { columnsOf } from '../../output/table.ts';
import { openKeyFile } from '../../parse/key-file.ts';
import { timestampOf } from '../../parse/parse-time.ts';
import {
  ISSUED_COLUMNS,
  ISSUED_FIELDS,
  ISSUED_LICENSE,
  type IssuedView,
  issuedView,
} from '../../views/licensing/license.ts';
import * as json from '../../views/schema.ts';
import { BATCH, type IssueRequest, issueLicenses } from './issue-batches.ts';

const SHOWN_AGAIN = 'The hub stores no key. `hubctl license key` shows it again.';
const REPLACED =
  'Keys that were replaced since they were issued are missing. `hubctl license key` shows the new ones.';

export type IssueOptions = {
  readonly app: string;
  readonly seats?: number;
  readonly profile?: string;
  readonly limit?: Record<string, bigint>;
  readonly feature?: readonly string[];
  readonly expires?: { readonly at: Date; readonly isPeriod: boolean };
  readonly validFor?: CalendarPeriod;
  readonly graceDays?: number;
  readonly leaseDays?: number;
  readonly customerId?: string;
  readonly customer?: string;
  readonly customerEmail?: string;
  readonly metadata?: Record<string, string>;
  readonly signMetadata?: readonly string[];
  readonly count?: number;
  readonly idempotencyKey?: string;
  readonly out?: string;
  readonly force?: true;
};

/** The printed result, independent of the number of licenses and of the destination of their keys. */
export const ISSUED_LICENSES = json.object('IssuedLicenses', {
  licenses: json.optional(
    json.list(ISSUED_LICENSE, 'the licenses with their keys, unless the keys were written to a file'),
  ),
  file: json.optional(json.text('the file with the keys')),
  issued: json.integer('number of issued licenses'),
});

const WRITTEN_FIELDS = columnsOf(ISSUED_LICENSES, { file: 'Written to', issued: 'Licenses issued' });

export async function issueKeys(commandContext: CommandContext, options: IssueOptions): Promise<void> {
  const { out } = commandContext;
  requireRepeatable(options);
  if (options.out !== undefined) return issueToFile(commandContext, options, options.out);
  await issue(commandContext, options, 'printed', async (batches) => {
    if (options.count === undefined && !out.json()) {
      for await (const [license] of batches) if (license) await out.record(license, ISSUED_FIELDS);
    } else {
      const within = { items: 'licenses', count: 'issued' };
      await out.list(batches, ISSUED_COLUMNS, { ofChange: true, within });
    }
  });
  out.note(SHOWN_AGAIN);
}

/** Leaves room for the numbers of the batches: the hub takes 128 characters. */
const MAX_KEY_OF_BATCHES = 120;

/** @throws CliError (usage) if a repeated command would be another request */
function requireRepeatable({ idempotencyKey, expires, count = 1 }: IssueOptions): void {
  if (idempotencyKey === undefined) return;
  if (expires?.isPeriod) {
    throw usageError(
      'With --idempotency-key, give --expires as a date or time: the end of a period differs each time.',
    );
  }
  if (count > BATCH && idempotencyKey.length > MAX_KEY_OF_BATCHES) {
    throw usageError(
      `--idempotency-key has at most ${MAX_KEY_OF_BATCHES} characters with --count above ${BATCH}.`,
    );
  }
}

async function issueToFile(
  commandContext: CommandContext,
  options: IssueOptions,
  path: string,
): Promise<void> {
  const { streams, interruption, out } = commandContext;
  const count = options.count ?? 1;
  interruption.hold(() => 'No license was issued.');
  const target = { path, force: options.force === true, streams, interruption };
  const file = await openKeyFile(target, { app: options.app, count });
  let issued = 0;
  const progress = commandContext.progress.show(() => bar('Issuing', issued, count));
  try {
    await issue(commandContext, options, `in ${path}`, async (batches) => {
      for await (const batch of batches) {
        await file.append(batch).catch((error) => {
          const message = `${path} cannot be written (${error.code}).`;
          throw new CliError('output_failed', EXIT.failed, message, { cause: error });
        });
        issued += batch.length;
      }
    });
  } finally {
    progress.end();
    await file.close();
  }
  if (file.isStandardOutput) return out.note(`Licenses issued: ${issued}`);
  await out.record({ file: path, issued }, WRITTEN_FIELDS).catch((error) => {
    throw new PartialFailure(`${issued} licenses were issued; their keys are in ${path}.`, error);
  });
}

type Deliver = (batches: AsyncIterable<IssuedView[]>) => Promise<void>;

/** Issues licenses and delivers each batch. If it fails or is interrupted, the error names the licenses whose keys may be missing. */
async function issue(
  commandContext: CommandContext,
  options: IssueOptions,
  where: string,
  deliver: Deliver,
): Promise<void> {
  const { interruption } = commandContext;
  const total = options.count ?? 1;
  let kept = 0;
  let replaced = false;
  let latest: readonly IssuedView[] = [];
  let before: readonly IssuedView[] = [];
  const issuing = issueLicenses(commandContext.hub, request(options), total);
  async function* batches(): AsyncGenerator<IssuedView[]> {
    for await (const licenses of issuing.batches) {
      const views = licenses.map(issuedView);
      replaced ||= views.some(({ licenseKey }) => licenseKey === undefined);
      latest = views;
      yield views;
      kept += views.length;
      [before, latest] = [views, []];
    }
    if (kept < total) throw interruption.error('');
  }
  const sofar = (readerLeft = false): Issued => {
    const unread = readerLeft ? before : [];
    const missing = [...unread, ...latest, ...issuing.waiting().map(issuedView)];
    const delivered = kept - unread.length;
    const licenseIds = missing.map(({ licenseId }) => licenseId);
    return { total, issued: issuing.issued(), kept: delivered, missing: licenseIds };
  };
  // Wait for the batches in flight: their keys would be missing. A second signal ends the process at once.
  interruption.hold(() => `${explain(sofar(), options.app, where)} ${MORE}`);
  const stop = (): void => void issuing.stop();
  interruption.signal.addEventListener('abort', stop);
  try {
    if (interruption.signal.aborted) stop();
    await deliver(batches());
    if (replaced) commandContext.out.note(REPLACED);
  } catch (error) {
    await issuing.stop();
    const done = sofar(hasReaderLeft(error));
    if (done.issued === 0) throw error;
    const more = error instanceof CliError ? '' : ` ${MORE}`;
    throw new PartialFailure(explain(done, options.app, where) + more, error, done.missing);
  } finally {
    interruption.signal.removeEventListener('abort', stop);
  }
}

/** A pipe buffers 64 KiB, less than a batch: of two batches, the first may never be read. */
function hasReaderLeft(error: unknown): boolean {
  const cause = error instanceof CliError ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause && (cause.code === 'EPIPE' || cause.code === 'ECONNRESET');
}

const MORE = '`hubctl license list` shows whether failed calls or calls without an answer issued more.';

type Issued = {
  readonly total: number;
  readonly issued: number;
  /** The number of delivered keys. */
  readonly kept: number;
  /** Licenses whose keys may be missing. */
  readonly missing: readonly string[];
};

/** The most licenses to name one by one. */
const NAMED = 3;

/** Says how many licenses exist, where their keys are, and how to show those that may be missing. */
function explain({ total, issued, kept, missing }: Issued, app: string, where: string): string {
  const count = `${issued} of ${total} licenses ${issued === 1 ? 'was' : 'were'} issued`;
  if (missing.length === 0) return `${count}; their keys are ${where}.`;
  const [first, ...others] = missing.toSorted();
  if (issued === 1) {
    return `The license ${first} was issued, and its key may be missing. \`hubctl license key ${first}\` shows it.`;
  }
  const which =
    missing.length <= NAMED
      ? missing.join(', ')
      : `from ${first} to ${others.at(-1)} (\`hubctl license list --app ${app} --max ${issued}\`)`;
  const keptKeys = kept === 1 ? '1 key is' : `${kept} keys are`;
  return `${count}. ${keptKeys} ${where}. ${counted(missing.length, 'key')} may be missing: \`hubctl license key\` shows the key of a license: ${which}.`;
}

function request(options: IssueOptions): IssueRequest {
  const { app, seats, profile, limit, feature, expires, validFor, graceDays, leaseDays } = options;
  const { customerId, customer, customerEmail, metadata, signMetadata, idempotencyKey } = options;
  return {
    app,
    seatLimit: seats ?? 0,
    limits: limit ?? {},
    features: [...(feature ?? [])],
    metadata: metadata ?? {},
    signedMetadata: [...(signMetadata ?? [])],
    limitProfile: profile,
    customerId,
    customer,
    customerEmail,
    graceDays,
    leaseDays,
    validFor,
    ...(expires !== undefined && { expiresAt: timestampOf(expires.at) }),
    idempotencyKey,
  };
}
