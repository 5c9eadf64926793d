// The checks of hubctl doctor. Each has one finding.
import { once } from 'node:events';
import { constants, existsSync } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { createClient } from '@connectrpc/connect';
import { isNewLog } from '../../core/audit/begin-chain.ts';
import { readChainKey } from '../../core/audit/chain-key.ts';
import { ChainStopped } from '../../core/audit/chain-stopped.ts';
import { requireRecordedHead } from '../../core/audit/head.ts';
import { readUnlinkedQueue } from '../../core/audit/unlinked-entries.ts';
import { keySecretSealedFor } from '../../core/license/keys/key-secrets.ts';
import { sealedFor as signingKeySealedFor } from '../../core/license/keys/signing.ts';
import { QUEUE } from '../../core/payment/callbacks/job-queue.ts';
import { sealedFor as credentialsSealedFor } from '../../core/payment/slots/provider-access.ts';
import type { Database } from '../../core/storage/database.ts';
import { openRedis } from '../../core/storage/redis/open-redis.ts';
import { describeRedis } from '../../core/storage/redis/redis-address.ts';
import { isRefusal, probeRedis } from '../../core/storage/redis/redis-health.ts';
import { migrationStatus } from '../../core/storage/schema/migrate.ts';
import { findIncompatible } from '../../core/storage/schema/newer-schema.ts';
import { checkKeyRing } from '../../core/storage/secrets/key-ring.ts';
import { loadMasterKeyFile, type MasterKey, readMasterKeys } from '../../core/storage/secrets/master-key.ts';
import { createSealer } from '../../core/storage/secrets/sealing.ts';
import { AccessService } from '../../gen/hub/access/v1/access_service_pb.ts';
import { MetricsService } from '../../gen/hub/metrics/v1/metrics_service_pb.ts';
import { codeOf, messageOf } from '../../lib/caught-error.ts';
import { checkHealth } from '../../lib/presentation/health.ts';
import { createReading } from '../../lib/presentation/metric-reading.ts';
import { withLocalDatabase } from '../backup/local-database.ts';
import type { CommandContext } from '../command-context.ts';
import { transportTo } from '../connect/connection.ts';
import type { Target } from '../connect/target.ts';
import { coreTrust } from '../serve/core-transport.ts';
import { redisSource } from '../serve/redis-connection.ts';
import type { Settings } from '../serve/setting-table.ts';
import { readSettings } from '../serve/settings.ts';
import { packageVersion } from '../version.ts';
import type { CheckResult } from '../views/operations/check-result.ts';
import { checkPooler } from './pooler-check.ts';

/** Clocks that differ by more make leases and expiries unreliable. */
const CLOCK_TOLERANCE_MS = 5_000;

const REDIS_TIMEOUT_MS = 3_000;

/** While a hub runs, it links audit entries within seconds. */
const UNLINKED_S = 300;
/** The most waiting callbacks to count. */
const MOST = 10_000;
/** How long a provider may be silent before the check warns. */
const OLD_S = 3_600;

/** Runs every check. Skips a check whose precondition failed. Never throws for a finding. */
export async function runChecks(
  flags: Readonly<Record<string, unknown>>,
  environment: NodeJS.ProcessEnv,
  commandContext: CommandContext,
): Promise<CheckResult[]> {
  const { dataDir } = commandContext.options();
  const findings: CheckResult[] = [ok('Node.js', process.version)];
  let settings: Settings;
  try {
    settings = readSettings(flags, environment);
    findings.push(ok('configuration', 'every setting is valid'));
  } catch (error) {
    const lines = messageOf(error).split('\n');
    return [
      ...findings,
      ...lines.map((line) => failed('configuration', line, 'correct the value and try again')),
    ];
  }
  if (settings.role !== 'gateway') {
    // A gateway has no data: it needs only Redis and the core.
    findings.push(await checkDataDir(dataDir));
    const keys = await readKeys(settings, dataDir);
    findings.push(keys.finding);
    findings.push(...(await checkDatabase(settings, dataDir, keys)));
  }
  findings.push(await checkRedis(settings));
  const core = coreOf(settings);
  const findTarget = core ?? commandContext.localTarget;
  const hub = await checkHub(findTarget, core ? 'failed' : 'skipped');
  return [...findings, hub, ...(hub.state === 'ok' ? await checkRunning(findTarget) : [])];
}

async function checkDataDir(dataDir: string): Promise<CheckResult> {
  try {
    await access(dataDir, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    if (codeOf(error) === 'ENOENT')
      return skipped('data directory', `${dataDir} does not exist yet: the first start creates it`);
    return failed(
      'data directory',
      `${dataDir} cannot be used: ${messageOf(error)}`,
      'run as the user that owns it, or set HUB_DATA_DIR',
    );
  }
  const open: string[] = [];
  for (const name of ['admin-token', 'demo.json']) {
    const path = join(dataDir, name);
    const found = await stat(path).catch(() => undefined); // absent: nothing to check
    if (found && (found.mode & 0o077) !== 0) open.push(path);
  }
  if (open.length === 0) return ok('data directory', dataDir);
  return failed('data directory', `other users can read ${open.join(', ')}`, `chmod 600 ${open.join(' ')}`);
}

type Keys = { readonly finding: CheckResult; readonly ring: MasterKey[] | undefined };

async function readKeys({ masterKey, masterKeyFile, databaseUrl }: Settings, dataDir: string): Promise<Keys> {
  const file = masterKeyFile ?? join(dataDir, 'master.key');
  try {
    const ring =
      masterKey === undefined
        ? loadMasterKeyFile(file)
        : readMasterKeys(masterKey.reveal(), 'HUB_MASTER_KEY');
    return {
      ring,
      finding: ok('master key', `${ring.length} in ${masterKey === undefined ? file : 'HUB_MASTER_KEY'}`),
    };
  } catch (error) {
    if (codeOf(error) === 'ENOENT' && masterKeyFile === undefined) {
      const when = databaseUrl
        ? 'the first start on a new database creates it'
        : 'the first start creates it';
      return {
        ring: undefined,
        finding: skipped('master key', `${file} is missing: ${when}; for an existing database, restore it`),
      };
    }
    return {
      ring: undefined,
      finding: failed(
        'master key',
        codeOf(error) === 'ENOENT' ? `there is no file ${file}` : messageOf(error),
        'restore the file, with mode 0600 and one key per line, or set HUB_MASTER_KEY_FILE to another',
      ),
    };
  }
}

async function checkDatabase(settings: Settings, dataDir: string, keys: Keys): Promise<CheckResult[]> {
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
  return {
    check,
    state: 'warning',
    detail: `${pending.length} migrations pending`,
    remedy: 'hubctl migration apply, or start the hub',
  };
}

/** Sealed secrets of the database, by the name of the check. */
const SEALED = [
  {
    check: 'signing keys',
    rows: 'select id, sealed_private_key as sealed from signing_key',
    about: signingKeySealedFor,
  },
  {
    check: 'key secrets',
    rows: 'select id, sealed_secret as sealed from key_secret',
    about: keySecretSealedFor,
  },
  {
    check: 'credentials',
    rows: 'select id, sealed_credentials as sealed from slot',
    about: credentialsSealedFor,
  },
];

/** Opens every secret: the key ring must fit this database. */
async function checkSealed(db: Database, keys: Keys): Promise<CheckResult[]> {
  const findings: CheckResult[] = [];
  for (const sealed of SEALED) findings.push(await checkOpens(db, keys, sealed));
  return findings;
}

async function checkOpens(
  db: Database,
  { ring, finding }: Keys,
  { check, rows: statement, about }: (typeof SEALED)[number],
): Promise<CheckResult> {
  const remedy = 'set HUB_MASTER_KEY_FILE to the master.key of the hub that created the database';
  if (finding.state === 'failed') return skipped(check, 'the master key comes first');
  try {
    if (ring) await checkKeyRing(db.pool, ring);
    const { rows } = await db.pool.query<{ id: string; sealed: Buffer }>(statement);
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
  return {
    check,
    state: 'warning',
    detail: `${count} ${count === 1 ? 'entry waits' : 'entries wait'} for a link, the oldest for ${seconds} s`,
    remedy: 'start a hub; if one runs, see the runbook HubAuditEntriesUnlinked',
  };
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
  return { check, state: 'warning', detail, remedy };
}

/** A dead callback may be money that nobody noticed; callback_state_idx finds it. */
async function checkCallbacks(db: Database): Promise<CheckResult> {
  const check = 'callbacks';
  const { rows } = await db.pool.query<{ dead: number }>(`
    select count(*)::int as dead from callback c
    where state = 'dead' and not exists (select from usage_log u where u.id = c.session_id)`);
  const dead = rows[0]?.dead ?? 0;
  if (dead === 0) return ok(check, 'none given up');
  return {
    check,
    state: 'warning',
    detail: `${dead} ${dead === 1 ? 'was' : 'were'} given up, of sessions that are not paid`,
    remedy: 'see hubctl callback list --state dead, and hubctl callback replay each',
  };
}

/** A customer paid twice for each; duplicate_payment_open_idx finds them. */
async function checkDuplicates(db: Database): Promise<CheckResult> {
  const check = 'duplicate payments';
  const { rows } = await db.pool.query<{ open: number }>(
    `select count(*)::int as open from (select from duplicate_payment where resolved_at is null limit ${MOST}) d`,
  );
  const open = rows[0]?.open ?? 0;
  if (open === 0) return ok(check, 'none open');
  return {
    check,
    state: 'warning',
    detail: `${open} ${open === 1 ? 'is' : 'are'} open: the session was paid by another payment`,
    remedy: 'see hubctl session list-duplicates: refund each, then hubctl session resolve-duplicate',
  };
}

async function checkRedis(settings: Settings): Promise<CheckResult> {
  if (settings.redisUrl === undefined) {
    return skipped('Redis', 'REDIS_URL is not set: requests are counted in memory');
  }
  const source = redisSource(settings);
  const name = describeRedis(source.address);
  const redis = await openRedis(source, () => {}); // the wait below reports the error
  try {
    await once(redis, 'ready', { signal: AbortSignal.timeout(REDIS_TIMEOUT_MS) });
    await probeRedis(redis);
    return ok('Redis', name);
  } catch (error) {
    const why = messageOf(error) || 'no answer';
    return isRefusal(error)
      ? failed('Redis', `${name} refuses writes: ${why}`, 'point REDIS_URL to a primary with free memory')
      : failed('Redis', `${name} does not answer: ${why}`, 'start Redis, or correct REDIS_URL');
  } finally {
    redis.disconnect();
  }
}

/** The core of a gateway; undefined for a hub that includes the core. */
function coreOf(settings: Settings): (() => Promise<Target>) | undefined {
  const { role, coreUrl: server, coreToken } = settings;
  if (role !== 'gateway' || server === undefined) return undefined;
  const token = coreToken === undefined ? undefined : { value: coreToken.reveal(), from: 'HUB_CORE_TOKEN' };
  const trust = coreTrust(settings);
  return () => Promise.resolve({ server, token, guessedFor: undefined, withheld: undefined, trust });
}

/** A stopped hub on this machine is `skipped`; for a gateway, a stopped core is a failure. */
async function checkHub(
  findTarget: () => Promise<Target>,
  whenStopped: 'skipped' | 'failed',
): Promise<CheckResult> {
  try {
    const target = await findTarget();
    // A program on the default address is not the hub of this data directory.
    if (target.guessedFor !== undefined) return stopped('none runs on this data directory');
    const caller = await createClient(AccessService, transportTo(target)).getCaller({});
    const clock = caller.hubTime && checkClock('hub', timestampDate(caller.hubTime));
    if (clock && clock.state !== 'ok') return clock;
    return ok('hub', `version ${caller.hubVersion} answers at ${target.server}, token "${caller.name}"`);
  } catch (error) {
    const { describeError } = await import('../errors/describe-error.ts');
    const target = await findTarget().catch(() => undefined); // if this fails, `error` says why
    const { code, message } = await describeError(error, { target, givenFor: () => undefined });
    if (code === 'hub_unreachable' && whenStopped === 'skipped') return stopped(message);
    if (code === 'hub_unreachable') return failed('hub', message, 'start the core, or correct HUB_CORE_URL');
    if (code === 'not_a_hub') return failed('hub', message, 'correct the address, or the proxy');
    if (code === 'unauthenticated' && target?.token) {
      const detail = `${target.server} does not accept the token from ${target.token.from}`;
      return failed('hub', detail, 'give a token of that hub: its data directory has one in admin-token');
    }
    return failed('hub', message, "see the hub's log");
  }
}

/** A token may be valid for other calls only. */
async function checkRunning(findTarget: () => Promise<Target>): Promise<CheckResult[]> {
  try {
    const { families } = await createClient(MetricsService, transportTo(await findTarget())).readMetrics({});
    return checkHealth(createReading(families, 0), new Date()); // the clocks were found to agree
  } catch (error) {
    return [skipped('processes', `the hub does not report it: ${messageOf(error)}`)];
  }
}

function checkClock(check: string, theirs: Date): CheckResult {
  const difference = Math.round((theirs.getTime() - Date.now()) / 1000);
  if (Math.abs(difference) * 1000 <= CLOCK_TOLERANCE_MS)
    return ok(check, 'agrees with the clock of this machine');
  return failed(
    check,
    `${Math.abs(difference)} s ${difference > 0 ? 'ahead of' : 'behind'} the clock of this machine`,
    'synchronize the clocks (NTP)',
  );
}

function ok(check: string, detail: string): CheckResult {
  return { check, state: 'ok', detail };
}

function skipped(check: string, detail: string): CheckResult {
  return { check, state: 'skipped', detail };
}

/** The checked hub may be about to start, or not yet at its address. */
function stopped(detail: string): CheckResult {
  return {
    check: 'hub',
    state: 'warning',
    detail,
    remedy: 'start it, or locate it with --data-dir, or with --server and a token',
  };
}

function failed(check: string, detail: string, remedy: string): CheckResult {
  return { check, state: 'failed', detail, remedy };
}
