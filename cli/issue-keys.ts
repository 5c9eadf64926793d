// Issues licenses and sees to it that no key is lost on its way to the terminal or the file.
import { timestampOf } from './calendar.ts';
import { CliError, EXIT, interruptedError, PartialFailure } from './failure.ts';
import { type IssueRequest, issueLicenses } from './issue.ts';
import { openKeyFile } from './key-file.ts';
import { bar } from './progress.ts';
import { integer, list, type Of, object, optional, text } from './shapes.ts';
import type { Column } from './table.ts';
import type { Tools } from './tools.ts';
import {
  ISSUED_COLUMNS,
  ISSUED_FIELDS,
  ISSUED_LICENSE,
  type IssuedView,
  issuedView,
} from './views/license.ts';

const ONCE = 'The hub shows a key only now: it keeps a hash. Store it before you close this window.';

export type IssueOptions = {
  readonly app: string;
  readonly seats: number;
  readonly profile?: string;
  readonly limit?: Record<string, bigint>;
  readonly expires?: Date;
  readonly customer?: string;
  readonly leaseDays?: number;
  readonly count?: number;
  readonly out?: string;
  readonly force?: true;
};

/** What is printed, however many there are and wherever their keys go. */
export const ISSUED_LICENSES = object('IssuedLicenses', {
  licenses: optional(list(ISSUED_LICENSE, 'the licenses with their keys, unless those went to a file')),
  file: optional(text('the file that has the keys')),
  issued: integer('how many licenses were issued'),
});

const WRITTEN_FIELDS: readonly Column<Of<typeof ISSUED_LICENSES>>[] = [
  { title: 'Written to', cell: ({ file }) => file },
  { title: 'Licenses issued', cell: ({ issued }) => issued },
];

export async function issueKeys(tools: Tools, options: IssueOptions): Promise<void> {
  const { out } = tools;
  if (options.out !== undefined) return issueToFile(tools, options, options.out);
  await issue(tools, options, 'printed', async (batches) => {
    if (options.count === undefined && !out.json()) {
      for await (const [license] of batches) if (license) await out.record(license, ISSUED_FIELDS);
    } else {
      const within = { items: 'licenses', count: 'issued' };
      await out.list(batches, ISSUED_COLUMNS, { ofChange: true, within });
    }
  });
  out.note(ONCE);
}

async function issueToFile(tools: Tools, options: IssueOptions, path: string): Promise<void> {
  const file = await openKeyFile(path, options.force === true);
  let issued = 0;
  const progress = tools.progress.show(() => bar('Issuing', issued, options.count ?? 1));
  try {
    await issue(tools, options, `in ${path}`, async (batches) => {
      for await (const batch of batches) {
        await file.append(batch).catch((error) => {
          throw new CliError('output_failed', EXIT.failed, `${path} cannot be written (${error.code}).`);
        });
        issued += batch.length;
      }
    });
  } finally {
    progress.end();
    await file.close();
  }
  await tools.out.record({ file: path, issued }, WRITTEN_FIELDS).catch((error) => {
    throw new PartialFailure(`${issued} licenses were issued; their keys are in ${path}.`, error);
  });
}

type Deliver = (batches: AsyncIterable<IssuedView[]>) => Promise<void>;

/** Has each batch delivered as it is issued. A failure or Ctrl-C on the way says how many there are and whose keys are lost. */
async function issue(tools: Tools, options: IssueOptions, where: string, deliver: Deliver): Promise<void> {
  const total = options.count ?? 1;
  let kept = 0;
  let latest: readonly IssuedView[] = [];
  const issuing = issueLicenses(await tools.hub('admin'), request(options), total);
  async function* batches(): AsyncGenerator<IssuedView[]> {
    for await (const licenses of issuing.batches) {
      const views = licenses.map(issuedView);
      latest = views;
      yield views;
      kept += views.length;
    }
    if (kept < total) throw interruptedError('Interrupted.');
  }
  // After the batches under way, whose keys would be lost; a second Ctrl-C ends at once.
  const stop = () => void issuing.stop();
  process.once('SIGINT', stop);
  try {
    await deliver(batches());
  } catch (error) {
    const issued = await issuing.stop();
    if (issued === 0) throw error;
    const sofar = `${issued} of ${total} licenses ${issued === 1 ? 'was' : 'were'} issued`;
    const more =
      error instanceof CliError ? '' : ' `hubctl license list` tells whether calls that failed issued more.';
    const [only] = latest;
    if (kept === issued) throw new PartialFailure(`${sofar}; their keys are ${where}.${more}`, error);
    if (issued === 1 && only !== undefined)
      throw new PartialFailure(
        `The license ${only.licenseId} was issued, and its key is lost: revoke it.`,
        error,
      );
    const which = `\`hubctl license list --app ${options.app} --max ${issued}\``;
    throw new PartialFailure(
      `${sofar}, of which the keys of ${kept} are surely ${where}: revoke the licenses of ${which} whose keys you do not have.${more}`,
      error,
    );
  } finally {
    process.off('SIGINT', stop);
  }
}

function request({ app, seats, profile, limit, expires, customer, leaseDays }: IssueOptions): IssueRequest {
  return {
    app,
    seatLimit: seats,
    limits: limit ?? {},
    ...(profile !== undefined && { limitProfile: profile }),
    ...(customer !== undefined && { customer }),
    ...(leaseDays !== undefined && { leaseDays }),
    ...(expires !== undefined && { expiresAt: timestampOf(expires) }),
  };
}
