// The checks of hubctl doctor. Each has one finding.
import { once } from 'node:events';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { timestampDate } from '@bufbuild/protobuf/wkt';
import { createClient } from '@connectrpc/connect';
import { openRedis } from '../../core/storage/redis/open-redis.ts';
import { describeRedis } from '../../core/storage/redis/redis-address.ts';
import { isRefusal, probeRedis } from '../../core/storage/redis/redis-health.ts';
import { loadMasterKeyFile, readMasterKeys } from '../../core/storage/secrets/key-ring-file.ts';
import { AccessService } from '../../gen/hub/access/v1/access_service_pb.ts';
import { MetricsService } from '../../gen/hub/metrics/v1/metrics_service_pb.ts';
import { codeOf, messageOf } from '../../lib/caught-error.ts';
import { checkHealth } from '../../lib/presentation/health.ts';
import { createReading } from '../../lib/presentation/metric-reading.ts';
import type { CommandContext } from '../command-context.ts';
import type { Target } from '../connect/choose-hub.ts';
import { transportTo } from '../connect/connection.ts';
import { NOTHING_CHANGED } from '../interrupt/interruption.ts';
import { coreTrust, gatewayRoleProblem } from '../serve/core-transport.ts';
import { redisSource } from '../serve/redis-connection.ts';
import type { Settings } from '../serve/setting-table.ts';
import { readSettings } from '../serve/settings.ts';
import type { CheckResult } from '../views/operations/check-result.ts';
import { checkDatabase, type Keys } from './database-checks.ts';
import { checkMailServer } from './mail-check.ts';
import { checkClock, failed, ok, skipped, warning } from './results.ts';

const REDIS_TIMEOUT_MS = 3_000;

/**
 * Runs every check. Skips a check whose precondition failed. Never throws for a finding.
 * @throws CliError (interrupted) at a signal while an embedded PostgreSQL may run for the checks
 */
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
    findings.push(...(await checkLocalDatabase(settings, dataDir, keys, commandContext)));
    findings.push(...(await checkMailServer(settings)));
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

async function readKeys({ masterKey, masterKeyFile, databaseUrl }: Settings, dataDir: string): Promise<Keys> {
  const file = masterKeyFile ?? join(dataDir, 'master.key');
  try {
    const ring = masterKey ? readMasterKeys(masterKey.reveal(), 'HUB_MASTER_KEY') : loadMasterKeyFile(file);
    return { ring, finding: ok('master key', `${ring.length} in ${masterKey ? 'HUB_MASTER_KEY' : file}`) };
  } catch (error) {
    const missing = codeOf(error) === 'ENOENT';
    if (missing && masterKeyFile === undefined) {
      const start = databaseUrl ? 'the first start on a new database' : 'the first start';
      const detail = `${file} is missing: ${start} creates it; for an existing database, restore it`;
      return { finding: skipped('master key', detail) };
    }
    const problem = missing ? `there is no file ${file}` : messageOf(error);
    const remedy =
      'restore the file, with mode 0600 and one key per line, or set HUB_MASTER_KEY_FILE to another';
    return { finding: failed('master key', problem, remedy) };
  }
}

/** These checks start a stopped embedded PostgreSQL: a signal ends them once it is stopped again. */
async function checkLocalDatabase(
  settings: Settings,
  dataDir: string,
  keys: Keys,
  { interruption }: Pick<CommandContext, 'interruption'>,
): Promise<CheckResult[]> {
  if (settings.databaseUrl !== undefined) return checkDatabase(settings, dataDir, keys);
  interruption.hold(() => NOTHING_CHANGED);
  const findings = await checkDatabase(settings, dataDir, keys).finally(() => interruption.release());
  if (interruption.signal.aborted) throw interruption.error(NOTHING_CHANGED);
  return findings;
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
    const wrong =
      whenStopped === 'failed' ? gatewayRoleProblem(caller, target.token !== undefined) : undefined;
    if (wrong !== undefined) return failed('hub', wrong.problem, wrong.remedy);
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

/** The checked hub may be about to start, or not yet at its address. */
function stopped(detail: string): CheckResult {
  return warning('hub', detail, 'start it, or locate it with --data-dir, or with --server and a token');
}
