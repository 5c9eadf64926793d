// Checks that the benchmark measures every case on every side and writes a table, figures and a chart. It
// does not check speed.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { runningServer } from '../../core/storage/embedded-postgres/lock-file.ts';
import { ROOT } from '../docs/markdown.ts';
import { discard } from '../support/hub/data-dir.ts';
import { IS_LONG } from '../support/long.ts';
import { until } from '../support/until.ts';
import { CASE_NAMES } from './cases.ts';
import type { Results } from './report/results.ts';

const PROGRAM = new URL('test/bench/compare.ts', ROOT).pathname;

describe('the benchmark', () => {
  it('measures hub, peer, bare peer and floor in every case, and writes the results', async function () {
    this.timeout(300_000);
    const out = await mkdtemp(join(tmpdir(), 'bench-results-'));
    try {
      const { stdout } = await promisify(execFile)(process.execPath, [PROGRAM, '--smoke', '--out', out]);

      const results: Results = JSON.parse(await readFile(join(out, 'smoke.json'), 'utf8'));
      expect(results.cases.map(({ name }) => name)).to.deep.equal(CASE_NAMES);
      for (const { name, title, sides, profiles } of results.cases) {
        expect(stdout).to.contain(title);
        for (const side of [sides.hub, sides.peer, sides.bare]) {
          expect(side?.perSecond, name).to.have.all.keys('1');
          const { withoutPauses, halfPeak, withPauses = halfPeak } = side?.latency ?? {};
          expect(side === sides.bare || withPauses !== halfPeak, name).to.equal(true);
          for (const latency of [withoutPauses, halfPeak, withPauses]) {
            expect(latency?.p99, name).to.be.greaterThan(0);
            expect(latency?.requests, name).to.be.greaterThan(0);
          }
          expect(side?.cost[1]?.postgresCpuMicros, name).to.be.a('number');
        }
        expect(sides.floor?.perSecond, name).to.have.all.keys('1');
        expect(sides.floor?.perSecond[1], name).to.be.greaterThan(0);
        expect(profiles.map(({ side, connections }) => `${side} ${connections}`)).to.deep.equal([
          'hub 1',
          'peer 1',
        ]);
        const sampled = profiles.map(({ micros }) =>
          Object.values(micros).reduce((sum, each) => sum + each, 0),
        );
        expect(Math.min(...sampled), name).to.be.greaterThan(0);
      }
      const page = await readFile(join(out, 'smoke.md'), 'utf8');
      for (const { title, floor } of results.cases) {
        // Targets, ratios, a row for each side, latencies of each server, two profiles.
        const rows = page.split(new RegExp(`^\\| ${title}(?=:|,| \\|)`, 'm'));
        expect(rows, title).to.have.length(floor === 'http' ? 13 : 12);
      }
      const chart = await readFile(join(out, 'smoke.svg'), 'utf8');
      expect(chart.match(/<rect /g)).to.have.length(14);
    } finally {
      await rm(out, { recursive: true, force: true });
    }
  });

  it('measures the effect of batching alone', async function () {
    if (!IS_LONG) return this.skip(); // it starts all sides again
    const program = new URL('test/bench/batching/bench-batching.ts', ROOT).pathname;
    const { stdout } = await promisify(execFile)(process.execPath, [program, '--smoke']);
    const rows = stdout.trim().split('\n').slice(2);
    expect(rows.map((row) => row.split(' | ')[0])).to.deep.equal([
      '| Soft check',
      '| Journaled callback',
      '| Public key',
    ]);
    for (const row of rows)
      expect(row).to.match(/^\| .+ \| 1( \| \d+){3}( \| [\d.]+ \([\d.]+–[\d.]+\)){2}( \| \d+, \d+){3} \|$/);
  });

  it('measures the parts of the statement of a new seat', async function () {
    if (!IS_LONG) return this.skip(); // it starts a hub and PostgreSQL again
    const program = new URL('test/bench/seats/bench-seats.ts', ROOT).pathname;
    const { stdout } = await promisify(execFile)(process.execPath, [program, '--rounds', '1']);
    const rows = stdout.trim().split('\n').slice(2);
    expect(rows).to.have.length(11);
    for (const row of rows) expect(row).to.match(/^\| .+ \| -?\d+ \| -?\d+ \|$/);
    for (const part of ['lock', 'find', 'insert', 'record'])
      expect(rows.find((row) => row.includes(`\`allocate_seats\`: ${part}`))).to.match(
        / \| [1-9]\d* \| [1-9]\d* \|$/,
      );
  });

  it('leaves no process and no file behind after Ctrl-C', async function () {
    if (!IS_LONG) return this.skip(); // it starts all sides again
    const temporary = await mkdtemp(join(tmpdir(), 'bench-interrupted-'));
    // The benchmark gets its own process group. The test signals the whole group, as a terminal does on
    // Ctrl-C.
    const bench = spawn(process.execPath, [PROGRAM, '--smoke', '--out', temporary], {
      detached: true,
      env: { ...process.env, TMPDIR: temporary, REDIS_URL: '' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const group = -(bench.pid ?? 0);
    try {
      let said = '';
      bench.stderr.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
      await until(() => said.includes('measuring'), 'the benchmark measures', 60_000);
      const postgres = await postgresOf(temporary);
      expect(isAlive(postgres)).to.equal(true);

      const exited = once(bench, 'exit');
      process.kill(group, 'SIGINT');

      expect(await exited, said).to.deep.equal([130, null]);
      // The processes have exited, but init may take a moment to reap them.
      await until(() => !isAlive(postgres), 'PostgreSQL is gone');
      await until(() => !isAlive(group), 'hub, peer, provider, floor and Redis are gone');
      expect(await readdir(temporary)).to.deep.equal([]);
    } finally {
      if (isAlive(group)) process.kill(group, 'SIGKILL');
      for (const name of await readdir(temporary)) await discard(join(temporary, name));
      await rm(temporary, { recursive: true, force: true });
    }
  });
});

/** The PostgreSQL process whose data directory is inside this directory. It has its own process group. */
async function postgresOf(directory: string): Promise<number> {
  for (const name of await readdir(directory)) {
    const server = await runningServer(join(directory, name, 'postgres/data'));
    if (server !== undefined) return server.pid;
  }
  throw new Error(`no PostgreSQL runs in ${directory}`);
}

/** Whether the process exists. A negative number stands for any process of that group. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
