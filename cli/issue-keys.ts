// Issues licenses and sees to it that no key is lost on its way to the terminal or the file.
import { timestampOf } from './calendar.ts';
import type { Context } from './context.ts';
import { CliError, interruptedError, PartialFailure } from './failure.ts';
import { type IssueRequest, issueLicenses } from './issue.ts';
import { openKeyFile } from './key-file.ts';
import { createProgress } from './progress.ts';
import type { Column } from './table.ts';
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

type Written = { readonly file: string; readonly issued: number };

const WRITTEN_FIELDS: readonly Column<Written>[] = [
  { title: 'Written to', cell: ({ file }) => file },
  { title: 'Licenses issued', cell: ({ issued }) => issued },
];

export async function issueKeys(context: Context, options: IssueOptions): Promise<void> {
  const { out } = context;
  if (options.out !== undefined) {
    const written = { file: options.out, issued: await issueToFile(context, options, options.out) };
    return out.record(written, WRITTEN_FIELDS);
  }
  if (options.count === undefined) {
    for await (const [issued] of batches(context, options, 'printed')) {
      if (issued !== undefined) await out.record(issued, ISSUED_FIELDS);
    }
  } else {
    await out.list(batches(context, options, 'printed'), ISSUED_COLUMNS);
  }
  out.note(ONCE);
}

async function issueToFile(context: Context, options: IssueOptions, path: string): Promise<number> {
  const file = await openKeyFile(path, options.force === true);
  const progress = createProgress(context.streams, 'Issuing', options.count ?? 1);
  let issued = 0;
  try {
    for await (const batch of batches(context, options, `in ${path}`)) {
      await file.append(batch).catch((error) => {
        throw new PartialFailure(
          `${issued + batch.length} licenses were issued, the keys of the last ${batch.length} could not be written to ${path}. Revoke those: \`hubctl license list\` has them on top.`,
          error,
        );
      });
      issued += batch.length;
      progress.update(issued);
    }
  } finally {
    progress.end();
    await file.close();
  }
  return issued;
}

/** Batches as they are issued. A failure or Ctrl-C on the way says how many there are and `where` they went. */
async function* batches(
  context: Context,
  options: IssueOptions,
  where: string,
): AsyncGenerator<IssuedView[]> {
  const total = options.count ?? 1;
  let done = 0;
  let stopped = false;
  const sofar = () => `${done} of ${total} licenses were issued; their keys are ${where}.`;
  const stop = () => {
    stopped = true; // after the batch under way, whose keys would be lost; a second Ctrl-C ends at once
  };
  process.once('SIGINT', stop);
  try {
    for await (const licenses of issueLicenses(await context.hub(), request(options), total)) {
      yield licenses.map(issuedView);
      done += licenses.length;
      if (stopped && done < total) throw interruptedError(`Interrupted. ${sofar()}`);
    }
  } catch (error) {
    if (done === 0 || error instanceof CliError) throw error;
    throw new PartialFailure(
      `${sofar()} \`hubctl license list\` tells whether the failed call issued more.`,
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
