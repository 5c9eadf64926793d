// No signal that stops hubctl while it issues keys may lose keys.
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { constants, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import pg from 'pg';
import { ended, start } from '../cli/spawn-hubctl.ts';
import { startHub, type TestHub } from '../support/hub/hub.ts';
import { query } from '../support/postgres/databases.ts';
import { until } from '../support/until.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const KEY = /[0-9A-HJKMNP-TV-Z]{5}(-[0-9A-HJKMNP-TV-Z]{5}){4}/g;
const MANY = 500_000;

describe('hubctl key issue when stopped', () => {
  const app = `app-${randomUUID().slice(0, 8)}`;
  let hub: TestHub;
  let dir: string;

  before(async () => {
    hub = await startHub();
    await hub.admin.createApp({ slug: app, name: '' });
    dir = await mkdtemp(join(tmpdir(), 'hubctl-killed-'));
  });
  after(async () => {
    await hub.stop();
    await rm(dir, { recursive: true });
  });

  const env = () => ({ HUBCTL_SERVER: hub.rpcUrl, HUBCTL_TOKEN: hub.token });
  const issue = (customer: string, ...args: string[]) =>
    start(['key', 'issue', '--app', app, '--customer', customer, ...args], env());
  const issuedTo = async (customer: string): Promise<string[]> => {
    const rows = await query<{ hint: string }>(
      hub.databaseUrl,
      `select key_hint as hint from license where customer_id = (select id from customer where name = $1)`,
      [customer],
    );
    return rows.map(({ hint }) => hint).sort();
  };
  const hints = (printed: string): string[] =>
    [...printed.matchAll(KEY)].map(([key]) => key.slice(-5)).sort();
  const rowsIn = (file: string): number => {
    try {
      return readFileSync(file, 'utf8').split('\r\n').length - 2; // without header and end
    } catch {
      return 0; // it is not there yet
    }
  };

  for (const signal of SIGNALS) {
    it(`by ${signal} has all issued keys in the file, and reports their number`, async () => {
      const file = join(dir, `${signal}.csv`);
      const child = issue(signal, '--count', String(MANY), '--out', file);
      const end = ended(child);
      await until(() => rowsIn(file) >= 1000, 'the first keys are in the file', 20_000);
      child.kill(signal);
      const { code, stderr } = await end;
      const keys = hints(await readFile(file, 'utf8'));
      expect(code, stderr).to.equal(128 + constants.signals[signal]);
      // On a busy machine the current call takes long enough for a note.
      const note = new RegExp(`^${signal}: finishing the current call.*\n`);
      expect(stderr.replace(note, '')).to.equal(
        `hubctl: Interrupted by ${signal}. ${keys.length} of ${MANY} licenses were issued; their keys are in ${file}.\n`,
      );
      expect(await issuedTo(signal)).to.deep.equal(keys);
    });

    it(`by ${signal} has printed all issued keys`, async () => {
      const child = issue(`${signal} pipe`, '--count', String(MANY), '--output', 'json');
      const [printed, complaint, exit] = [
        text(child.stdout ?? Readable.from([])),
        text(child.stderr ?? Readable.from([])),
        once(child, 'exit'),
      ];
      child.stdout?.once('data', () => child.kill(signal));
      expect((await exit)[0]).to.equal(128 + constants.signals[signal]);
      const keys = hints(await printed);
      const { error } = JSON.parse(await complaint);
      expect(error).to.deep.equal({
        code: 'interrupted',
        message: `Interrupted by ${signal}. ${keys.length} of ${MANY} licenses were issued; their keys are printed.`,
      });
      expect(await issuedTo(`${signal} pipe`)).to.deep.equal(keys);
    });
  }

  it('treats a repeated Ctrl-C, or several signals together, as one', async () => {
    const file = join(dir, 'echo.csv');
    const child = issue('echo', '--count', String(MANY), '--out', file);
    const end = ended(child);
    await until(() => rowsIn(file) >= 1000, 'the first keys are in the file', 20_000);
    for (const signal of SIGNALS) child.kill(signal);
    const { code, stderr } = await end;
    expect(code, stderr).to.be.oneOf([129, 130, 143]);
    expect(await issuedTo('echo')).to.deep.equal(hints(await readFile(file, 'utf8')));
  });

  describe('while the hub does not answer', () => {
    let holder: pg.Client;
    const waits = `select from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())`;
    const lock = async (table: string) => {
      holder = new pg.Client({ connectionString: hub.databaseUrl });
      await holder.connect();
      await holder.query(`begin; lock table ${table} in exclusive mode`);
    };
    const blocked = () =>
      until(async () => (await query(hub.databaseUrl, waits)).length > 0, 'the hub waits for the lock');
    afterEach(() => holder?.end());

    it('waits for the response, and has its keys in the file', async () => {
      await lock('license');
      const file = join(dir, 'waits.csv');
      const child = issue('waits', '--count', '5000', '--out', file);
      const { complaint, exit } = watch(child);
      await blocked();
      child.kill('SIGTERM');
      await until(
        () => complaint().includes('SIGTERM: finishing the current call'),
        'it says what it waits for',
      );
      await holder.end();
      expect((await exit)[0], complaint()).to.equal(143);
      const keys = hints(await readFile(file, 'utf8'));
      expect(keys).to.have.length(1000);
      expect(await issuedTo('waits')).to.deep.equal(keys);
    });

    it('exits at a second signal, and reports what is unknown', async () => {
      await lock('license');
      const file = join(dir, 'twice.csv');
      const child = issue('twice', '--count', '5000', '--out', file);
      const { complaint, exit } = watch(child);
      await blocked();
      child.kill('SIGTERM');
      await until(() => complaint().includes('A second signal'), 'it says how to end it');
      child.kill('SIGHUP');
      expect((await exit)[0], complaint()).to.equal(129);
      expect(complaint()).to.contain('Interrupted by SIGHUP. 0 of 5000 licenses were issued');
      expect(complaint()).to.contain('`hubctl license list` shows');
    });

    for (const signal of SIGNALS) {
      it(`prints a token created when ${signal} arrives`, async () => {
        await lock('service_token');
        const child = start(['token', 'create', '--role', 'viewer', '--name', signal], env());
        const { complaint, exit } = watch(child);
        const printed = text(child.stdout ?? Readable.from([]));
        await blocked();
        child.kill(signal);
        await until(() => complaint().includes(`${signal}: finishing`), 'it says what it waits for');
        await holder.end();
        expect((await exit)[0], complaint()).to.equal(128 + constants.signals[signal]);
        expect(await printed).to.match(/hub_[0-9a-z]{20}/);
        expect(complaint()).to.contain(`Interrupted by ${signal}. The command has finished its work.`);
        const there = await query(hub.databaseUrl, `select from service_token where name = '${signal}'`);
        expect(there).to.have.length(1);
      });
    }
  });
});

/** What it has said on standard error so far, and its end. */
function watch(child: ChildProcess) {
  let said = '';
  child.stderr?.setEncoding('utf8').on('data', (piece: string) => {
    said += piece;
  });
  return { complaint: () => said, exit: once(child, 'close') };
}
