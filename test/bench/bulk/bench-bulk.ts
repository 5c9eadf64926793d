// `npm run bench -- bulk`: issues keys to a file and exports a usage log. It measures speed, CPU cost and
// memory.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { parseCount, parseCountOrZero } from '../../../cli/parse/parse-number.ts';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { HUBCTL, spawnHub } from '../../support/hub/hub-process.ts';
import { fillUsageLog } from '../../support/hub/usage-log.ts';
import { createProgram } from '../../support/parse-options.ts';
import { createDatabase, query, startFlushingPostgres } from '../../support/postgres/databases.ts';
import { interruptible, type Start } from '../interruptible.ts';
import { postgresCpuSeconds, usageOf } from '../sides/process-cost.ts';

const { keys, entries, rounds, profile } = createProgram('npm run bench -- bulk')
  .description('Issues keys to a file and exports a usage log. Measures speed, CPU cost and memory.')
  .option('--keys <number>', 'license keys to issue; 0: does not measure it', parseCountOrZero, 100_000)
  .option(
    '--entries <number>',
    'entries of the usage log to export; 0: does not measure it',
    parseCountOrZero,
    1_000_000,
  )
  .option('--rounds <number>', 'times that each is measured', parseCount, 3)
  .option('--profile <directory>', 'where to write CPU profiles of hub and hubctl')
  .parse()
  .opts<{
    readonly keys: number;
    readonly entries: number;
    readonly rounds: number;
    readonly profile?: string;
  }>();
const profiling = profile === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profile}` };

/** The interval between memory readings. */
const POLL_INTERVAL_MS = 50;

type Found = {
  readonly perSecond: number;
  /** CPU microseconds per key or entry. */
  readonly hub: number;
  readonly postgres: number;
  readonly hubctl: number;
  readonly memory: readonly { readonly hub: number; readonly hubctl: number }[];
};

process.stdout.write(await interruptible(measure));

async function measure(start: Start): Promise<string> {
  await start(startFlushingPostgres, (stop) => stop());
  const dataDir = await start(makeDataDir, discard);
  const databaseUrl = await createDatabase();
  const hub = await start(
    () => spawnHub({ HUB_DATA_DIR: dataDir, DATABASE_URL: databaseUrl, ...profiling }),
    (one) => one.stop().then(() => {}),
  );
  const ctl = (...args: string[]): ChildProcess =>
    spawn(process.execPath, [HUBCTL, ...args], {
      env: { HUB_DATA_DIR: dataDir, ...profiling },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  await succeeded(ctl('app', 'create', 'bulk'));
  if (entries > 0) {
    await fillUsageLog(databaseUrl, { entries, secondsApart: 1 });
    await addFees(databaseUrl);
  }
  const issued: Found[] = [];
  const exported: Found[] = [];
  for (let round = 0; round < rounds; round++) {
    const file = `${dataDir}/keys-${round}.csv`;
    const issue = ['key', 'issue', '--app', 'bulk', '--customer', 'Ada Lovelace'];
    if (keys > 0)
      issued.push(await observe(keys, hub.child, () => ctl(...issue, '--count', `${keys}`, '--out', file)));
    const log = `${dataDir}/usage-${round}.csv`;
    if (entries > 0)
      exported.push(await observe(entries, hub.child, () => ctl('usage', 'export', '--out', log)));
  }
  return `| what | a second | CPU of the hub, µs each | of PostgreSQL | of hubctl | hub, MB after a tenth, at the end | hubctl, MB |
|---|---|---|---|---|---|---|
${[...rows(`${keys} keys issued`, issued), ...rows(`${entries} entries exported`, exported)].join('\n')}
`;
}

async function observe(count: number, hub: ChildProcess, begin: () => ChildProcess): Promise<Found> {
  const cpu = (pid: number | undefined): number => usageOf(pid ?? 0)?.cpuSeconds ?? 0;
  const [hubBefore, postgresBefore] = [cpu(hub.pid), postgresCpuSeconds() ?? 0];
  const begun = performance.now();
  const program = begin();
  const ended = succeeded(program).then(() => true as const);
  const memory: { hub: number; hubctl: number }[] = [];
  let hubctlSeconds = 0;
  while ((await Promise.race([ended, setTimeout(POLL_INTERVAL_MS, false)])) === false) {
    hubctlSeconds = Math.max(hubctlSeconds, cpu(program.pid));
    const hubctl = residentMb(program.pid);
    if (hubctl > 0) memory.push({ hub: residentMb(hub.pid), hubctl });
  }
  const micros = (seconds: number): number => (seconds * 1e6) / count;
  return {
    perSecond: (count * 1_000) / (performance.now() - begun),
    hub: micros(cpu(hub.pid) - hubBefore),
    postgres: micros((postgresCpuSeconds() ?? 0) - postgresBefore),
    hubctl: micros(hubctlSeconds),
    memory,
  };
}

async function succeeded(program: ChildProcess): Promise<void> {
  const [code] = await once(program, 'exit');
  if (code !== 0) throw new Error(`${program.spawnargs.slice(2).join(' ')} exited with ${code}`);
}

function residentMb(pid: number | undefined): number {
  try {
    const [, kB] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
    return (Number(kB ?? 0) * 1024) / 1e6;
  } catch {
    return 0; // it has ended
  }
}

function rows(what: string, found: readonly Found[]): string[] {
  return found.map(({ perSecond, hub, postgres, hubctl, memory }) => {
    const [early, late] = [memory[Math.floor(memory.length / 10)], memory.at(-1)];
    const mb = (of: 'hub' | 'hubctl'): string => `${early?.[of].toFixed(0)}, ${late?.[of].toFixed(0)}`;
    const micros = [hub, postgres, hubctl].map((each) => each.toFixed(1));
    return `| ${[what, perSecond.toFixed(0), ...micros, mb('hub'), mb('hubctl')].join(' | ')} |`;
  });
}

/** Adds a fee for each entry of the usage log. */
async function addFees(databaseUrl: string): Promise<void> {
  await query(
    databaseUrl,
    `insert into fee_rule (id, name, version, basis_points, fixed_minor, valid_from, created_at)
     values (gen_random_uuid(), 'gateway', 1, 150, 0, now(), now())`,
  );
  await query(
    databaseUrl,
    `insert into fee_line (usage_log_id, fee_rule_id, rule, rule_version, amount_minor)
     select usage_log.id, fee_rule.id, fee_rule.name, 1, 150 from usage_log, fee_rule`,
  );
  await query(databaseUrl, 'analyze');
}
