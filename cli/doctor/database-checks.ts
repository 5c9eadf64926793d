// The checks of a hub's database and its contents.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isNewLog } from '../../core/audit/begin-chain.ts';
import { readChainKey } from '../../core/audit/chain-key.ts';
import { ChainStopped } from '../../core/audit/chain-stopped.ts';
import { requireRecordedHead } from '../../core/audit/recorded-head.ts';
import { readUnlinkedQueue } from '../../core/audit/unlinked-entries.ts';
import { sealedFor as endpointSecretSealedFor } from '../../core/event/endpoint/endpoint-secrets.ts';
import { formatId } from '../../core/ids.ts';
import { keySecretSealedFor } from '../../core/license/keys/open-key-secrets.ts';
import { sealedFor as signingKeySealedFor } from '../../core/license/keys/sign-license.ts';
import { QUEUE } from '../../core/payment/callbacks/job-queue.ts';
import { sealedFor as credentialsSealedFor } from '../../core/payment/slots/provider-connections.ts';
import type { Database } from '../../core/storage/database.ts';
import { migrationStatus } from '../../core/storage/schema/migrate.ts';
import { findIncompatible } from '../../core/storage/schema/newer-schema.ts';
import type { MasterKey } from '../../core/storage/secrets/key-ring-file.ts';
import { checkKeyRing } from '../../core/storage/secrets/load-key-ring.ts';
import { createSealer } from '../../core/storage/secrets/sealing.ts';
import { messageOf } from '../../lib/caught-error.ts';
import { withLocalDatabase } from '../backup/local-database.ts';
import type { Settings } from '../serve/setting-table.ts';
import { packageVersion } from '../version.ts';
import type { CheckResult } from '../views/operations/check-result.ts';
import { checkPooler } from './pooler-check.ts';
import { checkClock, failed, ok, skipped, warning } from './results.ts';

/** While a hub runs, it links audit entries within seconds. */
const UNLINKED_S = 300;
/** The most waiting callbacks to count. */
const MOST = 10_000;
/** How long a provider may be silent before the check warns. */
const OLD_S = 3_600;

export type Keys = { readonly finding: CheckResult; readonly ring?: MasterKey[] };

export async function checkDatabase(settings: Settings, dataDir: string, keys: Keys): Promise<CheckResult[]> {
  if (settings.databaseUrl === undefined && !existsSync(join(dataDir, 'postgres'))) {
    return [skipped('database', 'the first start creates an embedded PostgreSQL')];
  }
  try {
    return await withLocalDatabase(settings, dataDir, async (db) => {
      const { rows } = await db.pool.query('select version() as version, now() as now');
      const server: CheckResult = ok('database', String(rows[0].version).split(' on ')[0] ?? '');
      const clock = checkClock('database clock', new Date(rows[0].now));
      const pooler = await checkPooler(settings);
      const first = [server, clock, ...(pooler === undefined ? [] : [pooler])];
      const schema = await checkSchema(db);
      if (schema.state !== 'ok') return [...first, schema];
      return [
        ...first,
        schema,
        ...(await checkSealed(db, keys)),
        await checkAuditLog(db, keys),
        await checkCallbacks(db),
        await checkDuplicates(db),
        await checkDisabledEndpoints(db),
        await checkBacklog(db),
      ];
    });
  } catch (error) {
    const remedy = settings.databaseUrl
      ? 'start it, or correct DATABASE_URL'
      : `look at ${join(dataDir, 'postgres/data/server.log')}`;
    return [failed('database', messageOf(error), remedy)];
  }
}

async function checkSchema(db: Database): Promise<CheckResult> {
  const check = 'schema';
  const { applied, pending } = await migrationStatus(db);
  const newer = await findIncompatible(db.pool);
  if (newer !== undefined) {
    const detail = `it is newer than this hub (${packageVersion()}): the migration ${newer} is unknown`;
    return failed(check, detail, 'run the version that applied it or a later one');
  }
  if (pending.length === 0) return ok(check, `${applied.length} migrations applied`);
  return warning(check, `${pending.length} migrations pending`, 'hubctl migration apply, or start the hub');
}

/** Sealed secrets of the database: the name of the check, the columns and their table, and what they are sealed for. */
const SEALED = [
  ['signing keys', 'sealed_private_key', 'signing_key', signingKeySealedFor],
  ['key secrets', 'sealed_secret', 'key_secret', keySecretSealedFor],
  ['credentials', 'sealed_credentials', 'slot', credentialsSealedFor],
  ['endpoint secrets', 'sealed_secret, sealed_previous_secret', 'event_endpoint', endpointSecretSealedFor],
] as const;

/** Opens every secret: the key ring must fit this database. */
async function checkSealed(db: Database, keys: Keys): Promise<CheckResult[]> {
  const findings: CheckResult[] = [];
  for (const sealed of SEALED) findings.push(await checkOpens(db, keys, sealed));
  return findings;
}

async function checkOpens(
  db: Database,
  { ring, finding }: Keys,
  [check, columns, table, about]: (typeof SEALED)[number],
): Promise<CheckResult> {
  const remedy = 'set HUB_MASTER_KEY_FILE to the master.key of the hub that created the database';
  if (finding.state === 'failed') return skipped(check, 'the master key comes first');
  try {
    if (ring) await checkKeyRing(db.pool, ring);
    const { rows } = await db.pool.query<{ id: string; sealed: Buffer }>(
      `select id, sealed from ${table}, unnest(array[${columns}]) as sealed where sealed is not null`,
    );
    if (rows.length === 0) return ok(check, 'none yet');
    if (!ring) return failed(check, `${rows.length} are encrypted, and there is no master key`, remedy);
    const sealer = createSealer(ring);
    for (const { id, sealed } of rows) sealer.open(sealed, about(id)).fill(0);
    return ok(check, `all ${rows.length} can be decrypted`);
  } catch (error) {
    return failed(check, messageOf(error), remedy);
  }
}

/** Whether hubs can link entries, and whether entries wait. A hub verifies the chain itself. */
async function checkAuditLog({ pool }: Database, { ring }: Keys): Promise<CheckResult> {
  const check = 'audit log';
  const fits =
    ring &&
    (await checkKeyRing(pool, ring).then(
      () => true,
      () => false,
    ));
  if (!fits) return skipped(check, 'the master key comes first');
  if (await isNewLog(pool)) return ok(check, 'no entries yet');
  try {
    await requireRecordedHead(pool, await readChainKey(pool, createSealer(ring)));
  } catch (error) {
    if (!(error instanceof ChainStopped)) throw error;
    const remedy =
      'find out who removed it, and restore it from a backup; see the runbook HubAuditChainStopped';
    return failed(check, `entries cannot be linked: ${error.message}`, remedy);
  }
  const { count, since } = await readUnlinkedQueue(pool);
  const seconds = since === undefined ? 0 : Math.round((Date.now() - since.getTime()) / 1000);
  if (seconds <= UNLINKED_S) return ok(check, 'entries are linked');
  return warning(
    check,
    `${count} ${count === 1 ? 'entry waits' : 'entries wait'} for a link, the oldest for ${seconds} s`,
    'start a hub; if one runs, see the runbook HubAuditEntriesUnlinked',
  );
}

/**
 * Waiting work and its age, from callback_waiting_idx and callback_stray_idx. The queue counts its jobs
 * itself.
 */
async function checkBacklog(db: Database): Promise<CheckResult> {
  const check = 'backlog';
  const { rows } = await db.pool.query<{ waiting: number; seconds: number | null; jobs: number | null }>(`
    select (select count(*) from (select from callback where state = 'received' limit ${MOST}) c)::int as waiting,
           (select extract(epoch from now() - received_at)::int from callback
             where state = 'received' order by id limit 1) as seconds,
           (select ready_count + active_count from queue where name = '${QUEUE}')::int as jobs`);
  const { waiting = 0, seconds = 0, jobs = 0 } = rows[0] ?? {};
  if (waiting === 0) return ok(check, 'nothing waits');
  const many = waiting === MOST ? `${MOST} or more` : String(waiting);
  const detail = `${many} ${waiting === 1 ? 'callback waits' : 'callbacks wait'}, the oldest for ${seconds} s; ${jobs ?? 0} jobs`;
  if ((seconds ?? 0) < OLD_S) return ok(check, detail);
  const remedy = 'see hubctl callback list --state received, and hubctl slot test of each slot';
  return warning(check, detail, remedy);
}

/**
 * A dead callback may be money that nobody noticed; callback_state_idx finds it. The usage entry of a paid
 * session may have been pruned, so the session says whether it was paid.
 */
async function checkCallbacks(db: Database): Promise<CheckResult> {
  const check = 'callbacks';
  const { rows } = await db.pool.query<{ dead: number }>(`
    select count(*)::int as dead from callback c
    where state = 'dead' and not exists (
      select from charge_session s where s.id = c.session_id and s.gateway_transaction_id is not null)`);
  const dead = rows[0]?.dead ?? 0;
  if (dead === 0) return ok(check, 'none given up');
  return warning(
    check,
    `${dead} ${dead === 1 ? 'was' : 'were'} given up, of sessions that are not paid`,
    'see hubctl callback list --state dead, and hubctl callback replay each',
  );
}

/** A customer paid twice for each; duplicate_payment_open_idx finds them. */
async function checkDuplicates(db: Database): Promise<CheckResult> {
  const check = 'duplicate payments';
  const { rows } = await db.pool.query<{ open: number }>(
    `select count(*)::int as open from (select from duplicate_payment where resolved_at is null limit ${MOST}) d`,
  );
  const open = rows[0]?.open ?? 0;
  if (open === 0) return ok(check, 'none open');
  return warning(
    check,
    `${open} ${open === 1 ? 'is' : 'are'} open: the session was paid by another payment`,
    'see hubctl session list-duplicates: refund each, then hubctl session resolve-duplicate',
  );
}

/**
 * Endpoints that the hub itself disabled, or may have disabled before the months that the audit log has: their
 * receivers miss every event.
 */
async function checkDisabledEndpoints({ pool }: Database): Promise<CheckResult> {
  const check = 'disabled endpoints';
  const { rows } = await pool.query<{ id: string }>(
    'select id from event_endpoint where removed_at is null and disabled_at is not null order by id',
  );
  const ids = rows.map(({ id }) => formatId('whe', id));
  // audit_entry_subject_idx; the last change of a disabled endpoint's state disabled it.
  const { rows: entries } = await pool.query<{ subject: string; kind: string }>(
    `select distinct on (subject) subject, actor_kind as kind from audit_entry
     where subject = any($1) and action = 'endpoint.disable' order by subject, id desc`,
    [ids],
  );
  const kinds = new Map(entries.map(({ subject, kind }) => [subject, kind]));
  const byHub = ids.filter((id) => kinds.get(id) === 'hub');
  const byUnknown = ids.filter((id) => !kinds.has(id));
  const details = [
    ...(byHub.length > 0 ? [`the hub disabled ${byHub.join(', ')}, because deliveries failed`] : []),
    ...(byUnknown.length > 0 ? [`the audit log no longer says who disabled ${byUnknown.join(', ')}`] : []),
  ];
  if (details.length === 0) return ok(check, 'none by the hub');
  const remedy =
    'see the reason with hubctl endpoint show; correct the receiver, run hubctl endpoint test, then ' +
    'hubctl endpoint enable';
  return warning(check, details.join('; '), remedy);
}
