// `npm run bench -- seats`: measures the statement that finds or allocates seats, and its parts, without a hub.
import { parseCount } from '../../../cli/parse/parse-number.ts';
import { createProgram } from '../../support/parse-options.ts';
import { asSuperuser, copyDatabase, query } from '../../support/postgres/databases.ts';
import { logPlans, logSize, plansSince } from '../explain-log.ts';
import { interruptible, type Start } from '../interruptible.ts';
import { median } from '../median.ts';
import { startEnvironment } from '../sides/environment.ts';
import { startHub } from '../sides/hub.ts';
import { makeLicenses } from '../test-data.ts';
import { Activations, type BatchOptions } from './activations.ts';
import { type Parts, partsOf } from './parts.ts';

const { rounds } = createProgram('npm run bench -- seats')
  .description('Measures the statement that finds or allocates seats, and its parts, without a hub.')
  .option('--rounds <number>', 'rounds of 10 batches of each variant and size', parseCount, 80)
  .parse()
  .opts<{ readonly rounds: number }>();

const LICENSES = 20_000;
/** Machines in a batch. */
const SIZES = [1, 16];
const BATCHES = 10;
/** Rounds that are not counted: connections fill their caches, and PostgreSQL prepares the statement. */
const WARM_UP = 3;
const UNUSED_PROVIDER_URL = 'http://127.0.0.1:9';

/** Only the commits of `newSeatsFlushed` wait for the disk. The last two also allocate new seats. */
const VARIANTS = [
  'knownSeats',
  'newSeats',
  'newSeatsFlushed',
  'withoutTrigger',
  'withoutForeignKey',
] as const;
type Variant = (typeof VARIANTS)[number];
/** A name, and microseconds. */
type TableRow = readonly [string, number];
/** Median microseconds. */
type Times = Readonly<Record<Variant, number>>;
type Variants = Readonly<
  Record<Variant, Pick<BatchOptions, 'areNew' | 'flush'> & { readonly activations: Activations }>
>;

process.stdout.write(await interruptible(measure));

async function measure(start: Start): Promise<string> {
  const { directory, redisUrl, begin } = await startEnvironment(start);
  // The hub creates the schema and the app. It stops before the measurement.
  const hub = await begin(() => startHub({ directory, redisUrl, providerUrl: UNUSED_PROVIDER_URL }));
  const licenses = makeLicenses(LICENSES);
  await hub.database.addLicenses(licenses);
  await hub.database.resetSeats(licenses);
  await hub.stop();
  const connect = (url: string): Promise<Activations> => begin(async () => new Activations(url, licenses));

  const activations = await connect(hub.databaseUrl);
  const variants: Variants = {
    knownSeats: { activations, areNew: false },
    newSeats: { activations, areNew: true },
    newSeatsFlushed: { activations, areNew: true, flush: true },
    withoutTrigger: {
      activations: await connect(await copyWith('disable trigger seat_counted_added', hub.databaseUrl)),
      areNew: true,
    },
    withoutForeignKey: {
      activations: await connect(await copyWith('drop constraint seat_license_id_foreign', hub.databaseUrl)),
      areNew: true,
    },
  };
  const times = [];
  for (const size of SIZES) times.push(await timesOf(variants, size));
  await logPlans(asSuperuser(hub.databaseUrl), { timing: true });
  await activations.reconnect();
  const columns: TableRow[][] = [];
  for (const [index, size] of SIZES.entries())
    columns.push(rowsOf(times[index] as Times, await explain(activations, size)));
  const rows = (columns[0] ?? []).map(([name], row) => [
    name,
    ...columns.map((column) => column[row]?.[1].toFixed(0)),
  ]);
  return `| microseconds, for this number of machines in a batch | ${SIZES.join(' | ')} |
|---|${'---:|'.repeat(SIZES.length)}
${rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}
`;
}

/** The URL of a copy of the database with a changed table of seats. */
async function copyWith(change: string, databaseUrl: string): Promise<string> {
  const copy = await copyDatabase(databaseUrl);
  await query(copy, `alter table seat ${change}`);
  return copy;
}

/** The median microseconds of each variant. The variants take turns. */
async function timesOf(variants: Variants, size: number): Promise<Times> {
  const taken = new Map<Variant, number[]>(VARIANTS.map((name) => [name, []]));
  for (let round = -WARM_UP; round < rounds; round++) {
    for (const name of VARIANTS) {
      const { activations, ...batches } = variants[name];
      const micros = await activations.activate({ ...batches, count: BATCHES, size });
      if (round >= 0) taken.get(name)?.push(...micros);
    }
  }
  return Object.fromEntries([...taken].map(([name, micros]) => [name, median(micros)])) as Times;
}

/** The parts of the statement of `allocate_seats`. */
async function explain(activations: Activations, size: number): Promise<Parts> {
  await activations.activate({ areNew: true, count: BATCHES * WARM_UP, size });
  const from = await logSize();
  await activations.activate({ areNew: true, count: BATCHES * rounds, size });
  return partsOf(await plansSince(from));
}

/** The rest can be negative: `parts` is from batches that were logged and timed, which takes longer. */
function rowsOf(times: Times, parts: Parts): TableRow[] {
  const named: TableRow[] = [
    ['– what the same machines take if they have a seat', times.knownSeats],
    ...[...parts].map(([name, micros]): TableRow => [`– \`allocate_seats\`: ${name}`, micros]),
    ['– the trigger `seat_counted_added`', times.newSeats - times.withoutTrigger],
    ['– the foreign key to the license', times.newSeats - times.withoutForeignKey],
  ];
  return [
    ['all machines have a seat', times.knownSeats],
    ['all machines are new', times.newSeats],
    ...named,
    [
      '– the rest: PL/pgSQL, and the start and end of its statement',
      named.reduce((rest, [, part]) => rest - part, times.newSeats),
    ],
    ['all machines are new, and the commit waits for the disk', times.newSeatsFlushed],
  ];
}
