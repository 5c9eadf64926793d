// npm run fault -- soak: runs a mixed load for five minutes, or the given number, and reports the hub's
// memory.
import { createProgram, parsePositive } from '../../support/parse-options.ts';
import { prepareTemplate, startPostgres } from '../../support/postgres/databases.ts';
import { soak } from './soak.ts';

const LATE_MS = 100;
/** The limit of heap growth: caches grow only at first, and a leak grows continuously. */
const GROWTH = 1.1;

const { minutes } = createProgram('npm run fault -- soak')
  .description("Runs a mixed load, and reports the hub's memory.")
  .option('--minutes <number>', 'duration of the load', parsePositive, 5)
  .parse()
  .opts<{ readonly minutes: number }>();
const stopPostgres = await startPostgres();
try {
  await prepareTemplate();
  const soaked = await soak(minutes * 60_000);
  for (const { at, heap, resident, lateP99 } of soaked.readings) {
    write(
      `${(at / 1_000).toFixed(0)} s: heap ${megabytes(heap)}, resident ${megabytes(resident)}, late ${lateP99} ms`,
    );
  }
  write(
    `served ${soaked.served} license requests, refused ${soaked.refused}; ${soaked.paid} payments; in ${soaked.seconds} s`,
  );
  write(`heap ${megabytes(soaked.heapBefore)} before, ${megabytes(soaked.heapAfter)} after`);
  write(`event loop late by ${soaked.lateP99} ms (99 of 100), ${soaked.lateMost} ms at most`);
  const wrong = [
    ...soaked.trouble,
    ...(soaked.heapAfter > GROWTH * soaked.heapBefore ? ['the heap grows'] : []),
    ...(soaked.refused > 0 ? ['requests were refused'] : []),
    ...(soaked.lateP99 >= LATE_MS ? ['the event loop is late'] : []),
  ];
  for (const each of wrong) write(`WRONG: ${each}`);
  if (wrong.length > 0) process.exitCode = 1;
} finally {
  await stopPostgres();
}

function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}

function write(line: string): void {
  process.stdout.write(`${line}\n`);
}
