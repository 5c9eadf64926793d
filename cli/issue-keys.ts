// Issues licenses and sees to it that no key is lost on its way to the terminal or the file.
import { timestampOf } from './calendar.ts';
import { CliError, interruptedError, PartialFailure } from './failure.ts';
import { type IssueRequest, issueLicenses } from './issue.ts';
import { openKeyFile } from './key-file.ts';
import { bar } from './progress.ts';
import { integer, type Of, object, text } from './shapes.ts';
import type { Column } from './table.ts';
import type { Tools } from './tools.ts';
import { ISSUED_COLUMNS, ISSUED_FIELDS, type IssuedView, issuedView } from './views/license.ts';

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

/** What is printed of keys that went to a file. */
export const WRITTEN_KEYS = object('WrittenKeys', {
  file: text('the file'),
  issued: integer('how many licenses were issued'),
});

const WRITTEN_FIELDS: readonly Column<Of<typeof WRITTEN_KEYS>>[] = [
  { title: 'Written to', cell: ({ file }) => file },
  { title: 'Licenses issued', cell: ({ issued }) => issued },
];

export async function issueKeys(tools: Tools, options: IssueOptions): Promise<void> {
  const { out } = tools;
  if (options.out !== undefined) {
    const written = { file: options.out, issued: await issueToFile(tools, options, options.out) };
    return out.record(written, WRITTEN_FIELDS);
  }
  if (options.count === undefined) {
    for await (const [issued] of batches(tools, options, 'printed')) {
      if (issued !== undefined) await out.record(issued, ISSUED_FIELDS);
    }
  } else {
    await out.list(batches(tools, options, 'printed'), ISSUED_COLUMNS);
  }
  out.note(ONCE);
}

async function issueToFile(tools: Tools, options: IssueOptions, path: string): Promise<number> {
  const file = await openKeyFile(path, options.force === true);
  let issued = 0;
  const progress = tools.progress.show(() => bar('Issuing', issued, options.count ?? 1));
  try {
    for await (const batch of batches(tools, options, `in ${path}`)) {
      await file.append(batch).catch((error) => {
        throw new PartialFailure(
          `The keys of ${issued} licenses are in ${path}, those issued after them could not be written. Revoke those: \`hubctl license list\` has them on top.`,
          error,
        );
      });
      issued += batch.length;
    }
  } finally {
    progress.end();
    await file.close();
  }
  return issued;
}

/** Batches as they are issued. A failure or Ctrl-C on the way says how many there are and `where` they went. */
async function* batches(tools: Tools, options: IssueOptions, where: string): AsyncGenerator<IssuedView[]> {
  const total = options.count ?? 1;
  let done = 0;
  const sofar = () => `${done} of ${total} licenses were issued; their keys are ${where}.`;
  const issuing = issueLicenses(await tools.hub('admin'), request(options), total);
  // After the batches under way, whose keys would be lost; a second Ctrl-C ends at once.
  const stop = () => issuing.stop();
  process.once('SIGINT', stop);
  try {
    for await (const licenses of issuing.batches) {
      yield licenses.map(issuedView);
      done += licenses.length;
    }
    if (done < total) throw interruptedError(`Interrupted. ${sofar()}`);
  } catch (error) {
    if (done === 0 || error instanceof CliError) throw error;
    throw new PartialFailure(
      `${sofar()} \`hubctl license list\` tells whether the calls under way issued more.`,
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
