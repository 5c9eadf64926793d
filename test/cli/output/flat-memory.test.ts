// Exports and bulk issues: the memory of hub and hubctl does not grow with their size.
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { type HubProcess, spawnHub } from '../../support/hub/hub-process.ts';
import { fillUsageLog } from '../../support/hub/usage-log.ts';
import { createMigratedDatabase } from '../../support/postgres/databases.ts';
import { residentKb } from '../../support/resident-memory.ts';
import { hubctl, start } from '../spawn-hubctl.ts';

/** Enough for what hubctl and a hub are themselves, and for a tenth of these rows, but not for all of them. */
const ROWS = 50_000;
/** V8 collects garbage late: with a small heap, the measurement shows the live memory. */
const TIDY = { NODE_OPTIONS: '--max-semi-space-size=1 --max-old-space-size=96' };

type Reading = { readonly line: number; readonly hub: number; readonly hubctl: number };

/** Reads the lines of a program to the end, and the memory of it and the hub at each tenth of them. */
async function readingsOf(child: ChildProcess, hub: HubProcess): Promise<Reading[]> {
  const readings: Reading[] = [];
  let lines = 0;
  const exited = once(child, 'exit');
  for await (const chunk of child.stdout ?? []) {
    lines += String(chunk).split('\n').length - 1;
    if (lines < ((readings.length + 1) * ROWS) / 10) continue;
    const [hubKb, hubctlKb] = await Promise.all([residentKb(hub.child.pid), residentKb(child.pid)]);
    readings.push({ line: lines, hub: hubKb, hubctl: hubctlKb });
  }
  expect(await exited).to.deep.equal([0, null]);
  expect(lines).to.be.at.least(ROWS);
  return readings;
}

/** What the last reading has more than the first, in times. */
function growth(readings: readonly Reading[], of: 'hub' | 'hubctl'): number {
  const [first] = readings;
  const running = readings.filter((reading) => reading[of] > 0);
  return (running.at(-1)?.[of] ?? Number.POSITIVE_INFINITY) / (first?.[of] ?? 1);
}

describe('the memory of a hub and of hubctl', () => {
  let dataDir: string;
  let hub: HubProcess;
  let environment: Record<string, string>;
  before(async function () {
    if (process.platform !== 'linux') this.skip();
    dataDir = await makeDataDir();
    const databaseUrl = await createMigratedDatabase();
    hub = await spawnHub({ HUB_DATA_DIR: dataDir, DATABASE_URL: databaseUrl, ...TIDY });
    environment = { HUB_DATA_DIR: dataDir, PATH: process.env['PATH'] ?? '', ...TIDY };
    await fillUsageLog(databaseUrl, { entries: ROWS, secondsApart: 0 });
    await hubctl(['app', 'create', 'bulk'], environment);
  });
  after(async () => {
    await hub?.stop();
    if (dataDir !== undefined) await discard(dataDir);
  });

  it('does not grow after the first tenth of a usage log export', async () => {
    const readings = await readingsOf(start(['usage', 'export'], environment), hub);
    const said = JSON.stringify(readings);
    expect(growth(readings, 'hub'), said).to.be.below(1.3);
    expect(growth(readings, 'hubctl'), said).to.be.below(1.3);
  });

  it('does not grow after the first tenth of a bulk issue of keys', async () => {
    const args = ['key', 'issue', '--app', 'bulk', '--seats', '1', '--count', String(ROWS)];
    const readings = await readingsOf(start(args, environment), hub);
    const said = JSON.stringify(readings);
    expect(growth(readings, 'hub'), said).to.be.below(1.3);
    expect(growth(readings, 'hubctl'), said).to.be.below(1.3);
  });
});
