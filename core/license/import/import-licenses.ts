// Imports the licenses of another system from a stream, in one transaction: all of them or none.
//
// A message is checked and stored before the next one is read, so the memory for an import is bounded by
// the size of a message, apart from a few bytes for each line.
import { createSecretKey, randomBytes } from 'node:crypto';
import type { PoolClient } from 'pg';
import type { ImportLicensesRequest } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import type { Actor } from '../../access/caller.ts';
import { recordChangeNow } from '../../audit/record.ts';
import type { Clock } from '../../clock.ts';
import { HubError } from '../../errors.ts';
import { formatId } from '../../ids.ts';
import type { ModuleDependencies } from '../../module-dependencies.ts';
import { LockHeld, takeLock } from '../../storage/hub-lock.ts';
import { inTransaction } from '../../storage/sql/transaction.ts';
import { findApp } from '../admin/find-app.ts';
import { type App, LimitProfileSchema } from '../entities.ts';
import { type EndChange, mayPassSoon, recordPassedEnds } from '../expiry-events.ts';
import type { ImportPepper } from '../keys/import-pepper.ts';
import { expiryEndMs } from '../state.ts';
import { createCheckLine, type ImportRow, type LineError } from './check-lines.ts';
import { createImportCustomers } from './import-customers.ts';
import { findTaken, insertImported } from './insert-imported.ts';
import { limitStreamTime } from './stream-time-limits.ts';

export type ImportResult = {
  readonly imported: number;
  readonly customersCreated: number;
  /** In the order of the lines. */
  readonly errors: readonly LineError[];
};

export type ImportOptions = Pick<ModuleDependencies, 'db' | 'clock'> & {
  readonly pepper: ImportPepper;
};

export type ImportCaller = {
  readonly actor: Actor;
  /** The apps that the caller is limited to. */
  readonly apps: readonly string[] | undefined;
};

export const MAX_LINES = 100_000;
const MAX_LINES_IN_MESSAGE = 1_000;
const MAX_ERRORS = 1_000;
/** PostgreSQL ends a transaction that is idle for 15 s. */
const MESSAGE_WAIT_MS = 10_000;
const IMPORT_MS = 10 * 60_000;
/** Another import holds the lock for longer. */
const LOCK_WAIT_MS = 200;

/**
 * Rejects with HubError `app_unknown`, `import_invalid`, `import_stalled`, or `overloaded` while another
 * import runs; with Postgres errors if the database fails. Nothing is stored then, nor if there are errors of
 * lines.
 */
export function createImportLicenses({ db, pepper, clock }: ImportOptions) {
  return async (
    requests: AsyncIterable<ImportLicensesRequest>,
    caller: ImportCaller,
  ): Promise<ImportResult> => {
    const messages = limitStreamTime(requests, { eachMs: MESSAGE_WAIT_MS, allMs: IMPORT_MS });
    const first = await messages.next();
    const { app: slug = '', allowShort = false, dryRun = false } = first.value ?? {};
    const em = db.em();
    const app = await findApp(em, slug);
    const profiles = await em.find(LimitProfileSchema, { app });
    // Without a pepper there are no imported keys to compare with, so a dry run can use a random one.
    const secret = dryRun
      ? ((await pepper.find()) ?? createSecretKey(randomBytes(32)))
      : await pepper.findOrCreate();
    const now = clock();
    const checkLine = createCheckLine({
      app,
      profiles: new Map(profiles.map(({ name, id }) => [name, id])),
      pepper: secret,
      allowShort,
      now,
    });
    const work = async (client: PoolClient): Promise<ImportResult> => {
      await takeImportLock(client);
      const run = createRun({ client, app, caller, dryRun, checkLine, now, clock });
      for (let next = first; next.done !== true; next = await messages.next()) {
        const { app: named, licenses } = next.value;
        if (named !== '' && named !== slug) throw invalid('all messages of a stream must name the same app');
        await run.add(licenses);
      }
      const result = run.result();
      if (result.errors.length > 0) throw new Refused(result);
      if (!dryRun && result.imported > 0) await run.record();
      return result;
    };
    try {
      return await inTransaction(db.pool, work);
    } catch (error) {
      if (error instanceof Refused) return error.result;
      throw error;
    } finally {
      await messages.return(undefined);
    }
  };
}

/** Rolls the transaction back. */
class Refused extends Error {
  readonly result: ImportResult;

  constructor(result: ImportResult) {
    super('lines cannot be imported');
    this.result = result;
  }
}

async function takeImportLock(client: PoolClient): Promise<void> {
  try {
    await takeLock(client, 'license_import', LOCK_WAIT_MS);
  } catch (error) {
    if (!(error instanceof LockHeld)) throw error;
    throw new HubError('overloaded', 'another import is running; try again when it has ended');
  }
}

type RunOptions = {
  readonly client: PoolClient;
  readonly app: App;
  readonly caller: ImportCaller;
  readonly dryRun: boolean;
  readonly checkLine: ReturnType<typeof createCheckLine>;
  /** When the import began. */
  readonly now: Date;
  readonly clock: Clock;
};

/** One import, in its transaction. */
function createRun({ client, app, caller, dryRun, checkLine, now, clock }: RunOptions) {
  const customers = createImportCustomers({ client, now, amongApps: caller.apps });
  const errors: LineError[] = [];
  let lines = 0;
  let imported = 0;
  let revoked = 0;
  let firstId: string | undefined;
  let lastId: string | undefined;
  /** Those ends after `now` that may pass before the commit. */
  const ends: EndChange[] = [];

  const store = async (rows: readonly ImportRow[]): Promise<void> => {
    const { ids: customerIds, errors: unseen } = await customers.resolve(rows, true);
    const ids = await insertImported(rows, customerIds, { client, appId: app.id, now });
    errors.push(...unseen);
    firstId ??= ids.at(0);
    lastId = ids.at(-1) ?? lastId;
    for (const [index, row] of rows.entries()) {
      const [licenseId = '', afterMs] = [ids[index], expiryEndMs(row)];
      if (afterMs > now.getTime() && mayPassSoon(afterMs, now))
        ends.push({ licenseId, appId: app.id, beforeMs: Number.POSITIVE_INFINITY, afterMs });
    }
  };

  return {
    async add(licenses: ImportLicensesRequest['licenses']): Promise<void> {
      if (licenses.length > MAX_LINES_IN_MESSAGE) {
        throw invalid(`a message may have at most ${MAX_LINES_IN_MESSAGE} licenses`);
      }
      if (lines + licenses.length > MAX_LINES) {
        throw invalid(`an import may have at most ${MAX_LINES} licenses: split it, and import each part`);
      }
      const rows: ImportRow[] = [];
      for (const license of licenses) {
        lines += 1;
        if (errors.length >= MAX_ERRORS) continue;
        const checked = await checkLine(license, license.line || lines);
        if ('line' in checked) rows.push(checked);
        else errors.push(...checked);
      }
      if (rows.length === 0) return;
      errors.push(...(await findTaken(client, rows, app)));
      // After an error the import stores nothing, and only looks for more errors.
      if (dryRun || errors.length > 0) await customers.resolve(rows, false);
      else await store(rows);
      imported += rows.length;
      revoked += rows.filter((row) => row.revoked).length;
    },

    result(): ImportResult {
      if (errors.length === 0) return { imported, customersCreated: customers.created(), errors };
      const inOrder = errors.toSorted((one, other) => one.line - other.line).slice(0, MAX_ERRORS);
      return { imported: 0, customersCreated: 0, errors: inOrder };
    },

    async record(): Promise<void> {
      await recordPassedEnds(client, ends, clock());
      // Not `now`: the stream may have taken long.
      await recordChangeNow(client, caller.actor, clock(), {
        action: 'license.import',
        subject: formatId('app', app.id),
        before: null,
        after: {
          count: imported,
          revoked,
          customersCreated: customers.created(),
          ...(firstId && lastId && { first: formatId('lic', firstId), last: formatId('lic', lastId) }),
        },
        detail: { slug: app.slug },
      });
    },
  };
}

function invalid(message: string): HubError {
  return new HubError('import_invalid', message, { field: 'licenses' });
}
