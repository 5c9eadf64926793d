// The chain over the audit log: it stays intact under load, and names the first altered row.

import { createHmac, createSecretKey } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import canonicalize from 'canonicalize';
import { expect } from 'chai';
import { pino } from 'pino';
import { v7 } from 'uuid';
import { beginChain, beginFirstChain } from '../../../core/audit/begin-chain.ts';
import {
  type ChainHead,
  type ChainOptions,
  linkHash,
  readHead,
  readLinks,
} from '../../../core/audit/chain.ts';
import { AUDIT_KEY, readChainKey } from '../../../core/audit/chain-key.ts';
import { type HeadFile, openHeadFile } from '../../../core/audit/head-file.ts';
import { createHeadMonitor } from '../../../core/audit/head-monitor.ts';
import { createLinker, linkEntries } from '../../../core/audit/link-entries.ts';
import { type LinkTask, startLinkTask } from '../../../core/audit/link-task.ts';
import { recordChangeNow } from '../../../core/audit/record.ts';
import { verifyAuditLog } from '../../../core/audit/verify-audit-log.ts';
import { openHubDatabase } from '../../../core/hub/database.ts';
import { formatId, newUuid } from '../../../core/ids.ts';
import type { Database } from '../../../core/storage/database.ts';
import { resealSecrets } from '../../../core/storage/secrets/reseal.ts';
import { createSealer } from '../../../core/storage/secrets/sealing.ts';
import { messageOf } from '../../../lib/caught-error.ts';
import { createMetrics } from '../../../lib/metrics/metrics.ts';
import { createTasks } from '../../../lib/metrics/tasks.ts';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { asSuperuser, createMigratedDatabase, query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { freshMasterKey } from '../payment/payment-admin.ts';
import { verifyAll } from './verify-all.ts';

const LOGGER = pino({ level: 'silent' });
const ACTOR = { kind: 'token', name: 'Ada', tokenId: formatId('tok', newUuid()), requestId: 'r-1' } as const;

describe('the audit chain', () => {
  let url: string;
  let db: Database;
  let chain: ChainOptions;
  let now: Date;
  let directory: string;
  const masterKey = freshMasterKey();
  const clock = () => now;

  beforeEach(async () => {
    directory = await makeDataDir();
    url = await createMigratedDatabase();
    db = await openHubDatabase({ url }, 8, LOGGER);
    now = new Date('2026-05-01T12:00:00.000Z');
    chain = { pool: db.pool, sealer: createSealer([masterKey]), clock };
    await beginFirstChain(chain, undefined);
  });
  afterEach(async () => {
    await db.close();
    await discard(directory);
  });

  const record = (subject: string, at = now) =>
    recordChangeNow(db.pool, ACTOR, at, {
      action: 'license.revoke',
      subject,
      before: { state: 'active' },
      after: { state: 'revoked', reason: 'ключ ☂ "x"', seats: 3 },
    });
  const task = createTasks(createMetrics()).of('audit_chain');
  /** Links as a hub does; the head file is that of the hub. */
  const start = async (file: HeadFile = openHeadFile(join(directory, 'audit-head'))): Promise<LinkTask> => {
    const headMonitor = await createHeadMonitor({ ...chain, file, logger: LOGGER });
    return startLinkTask({ pool: db.pool, link: createLinker(chain), headMonitor, logger: LOGGER, task });
  };
  const recordFive = async () => {
    for (const subject of ['a', 'b', 'c', 'd', 'e']) await record(subject);
    await linkEntries(chain);
  };
  const entryId = async (subject: string): Promise<string> => {
    const [row] = await query<{ id: string }>(url, 'select id from audit_entry where subject = $1', [
      subject,
    ]);
    return formatId('aud', row?.id ?? expect.fail(`no entry about ${subject}`));
  };
  /** An attacker with full access to the database, but without the key. */
  const tamper = async (...statements: string[]) => {
    const tables = ['audit_entry', 'audit_link', 'audit_anchor'];
    const off = tables.map((table) => `alter table ${table} disable trigger all`);
    const on = tables.map((table) => `alter table ${table} enable trigger all`);
    await query(asSuperuser(url), [...off, ...statements, ...on].join(';'));
  };
  const problem = async (savedHead?: ChainHead) => {
    const { broken } = await verifyAll(chain, { expected: savedHead });
    return broken && { problem: broken.problem, seq: broken.seq, entryId: broken.entryId };
  };

  it('stays intact when many hubs write and link entries concurrently', async () => {
    const hubs = await Promise.all(Array.from({ length: 4 }, () => start()));
    await Promise.all(Array.from({ length: 200 }, (_, index) => record(`s${index}`)));
    await Promise.all(Array.from({ length: 4 }, () => linkEntries(chain)));
    const { head, entries, broken } = await verifyAll(chain);
    expect({ seq: head.seq, entries, broken }).to.deep.equal({ seq: 200, entries: 200, broken: undefined });
    await Promise.all(hubs.map((hub) => hub.stop()));
  });

  it('links committed entries within moments, and the rest when the hub stops', async () => {
    const linkTask = await start();
    await record('a');
    await until(async () => (await readHead(db.pool)).seq === 1, 'the entry is linked');
    await record('b');
    await linkTask.stop();
    expect((await readHead(db.pool)).seq).to.equal(2);
  });

  it('never makes one change wait for another', async () => {
    await record('a');
    const blocked = await db.pool.connect();
    await blocked.query('begin');
    await blocked.query(`select from hub_lock where name = 'audit_chain' for update`);
    const linking = linkEntries(chain);
    await Promise.all([record('b'), record('c')]);
    await blocked.query('commit');
    blocked.release();
    await linking;
    expect((await verifyAll(chain)).entries).to.equal(3);
  });

  for (const [column, value] of [
    ['actor', `'Eve'`],
    ['at', `at - interval '1 ms'`],
    ['action', `'license.reinstate'`],
    ['subject', `'z'`],
    ['before', 'null'],
    ['after', `after || '{"seats": 4}'`],
    ['detail', `'{"by": "mistake"}'`],
    ['request_id', 'null'],
    ['actor_kind', `'hub'`],
    ['actor_token_id', 'null'],
    ['actor_certificate', `'CN=Ada'`],
  ]) {
    it(`reports a row with an altered ${column}`, async () => {
      await recordFive();
      const broken = { problem: 'row_altered', seq: 3, entryId: await entryId('c') };
      await tamper(`update audit_entry set ${column} = ${value} where subject = 'c'`);
      expect(await problem()).to.deep.equal(broken);
    });
  }

  it('reports a deleted row', async () => {
    await recordFive();
    const broken = { problem: 'row_missing', seq: 2, entryId: await entryId('b') };
    await tamper(`delete from audit_entry where subject = 'b'`);
    expect(await problem()).to.deep.equal(broken);
  });

  it('reports a row deleted before it was linked', async () => {
    await recordFive();
    await record('f');
    const broken = { problem: 'row_missing', seq: undefined, entryId: await entryId('f') };
    await tamper(`delete from audit_entry where subject = 'f'`);
    expect(await problem()).to.deep.equal(broken);
  });

  it('reports the position of a row deleted together with its link', async () => {
    await recordFive();
    await tamper(`delete from audit_link where seq = 2`, `delete from audit_entry where subject = 'b'`);
    expect(await problem()).to.deep.equal({ problem: 'link_missing', seq: 2, entryId: undefined });
    await tamper('update audit_link set seq = seq - 1 where seq > 2');
    expect(await problem()).to.include({ problem: 'row_altered', seq: 2 });
  });

  it('reports the first of two swapped rows', async () => {
    await recordFive();
    await tamper(
      'alter table audit_link drop constraint audit_link_pkey',
      `update audit_link l set entry_id = o.entry_id, hash = o.hash from audit_link o
       where (l.seq, o.seq) in ((2, 4), (4, 2))`,
      'alter table audit_link add primary key (entry_id)',
    );
    expect(await problem()).to.deep.equal({ problem: 'row_altered', seq: 2, entryId: await entryId('d') });
  });

  it('reports a backdated row', async () => {
    await recordFive();
    await record('f', new Date(now.getTime() - 11 * 60_000));
    expect(await problem()).to.deep.equal({ problem: 'row_backdated', seq: 6, entryId: await entryId('f') });
  });

  it('links entries in the order of their times, also if the clock of a hub was wrong', async () => {
    await recordFive();
    const inMinutes = (minutes: number): number => now.getTime() + minutes * 60_000;
    // The time of an id comes from the clock of the hub, which is 11 minutes ahead for the first entry.
    for (const [subject, atMinutes, idMinutes] of [
      ['f', 1, 12],
      ['g', 11.5, 11.5],
    ] as const) {
      await query(
        url,
        `insert into audit_entry (id, at, actor, action, subject, detail)
         values ($1, $2, 'Ada', 'app.create', $3, '{}')`,
        [v7({ msecs: inMinutes(idMinutes) }), new Date(inMinutes(atMinutes)), subject],
      );
    }
    expect(await problem()).to.equal(undefined);
    const links = await readLinks(db.pool, 5, 10);
    expect(links.map(({ entry }) => entry?.subject)).to.deep.equal(['f', 'g']);
  });

  it('links entries of a killed hub in order, even days later', async () => {
    await recordFive();
    for (let index = 0; index < 600; index++) await record(`f${index}`);
    now = new Date(now.getTime() + 3 * 86_400_000);
    await record('g');
    expect(await problem()).to.equal(undefined);
  });

  it('reports a row whose link was removed', async () => {
    await recordFive();
    await tamper('delete from audit_link where seq = 5');
    const broken = { problem: 'row_unlinked', seq: undefined, entryId: await entryId('e') };
    expect(await problem()).to.deep.equal(broken);
  });

  it('reports an inserted row whose link was made without the key', async () => {
    await recordFive();
    const id = '01900000-0000-7000-8000-000000000000';
    const insert = `insert into audit_entry (id, at, actor, action, subject, detail) values
      ('${id}', now(), 'Eve', 'license.issue', 'x', '{}')`;
    await tamper(insert);
    expect(await problem()).to.deep.equal({
      problem: 'row_unlinked',
      seq: undefined,
      entryId: formatId('aud', id),
    });
    await tamper(
      'update audit_link set seq = seq + 1 where seq > 2',
      `insert into audit_link select 3, '${id}', linked_at, hash from audit_link where seq = 2`,
    );
    expect(await problem()).to.deep.equal({ problem: 'row_altered', seq: 3, entryId: formatId('aud', id) });
  });

  it('reports the first of two rows with swapped contents', async () => {
    await recordFive();
    const broken = { problem: 'row_altered', seq: 2, entryId: await entryId('b') };
    await tamper(
      `update audit_entry e set subject = o.subject from audit_entry o
       where (e.subject, o.subject) in (('b', 'd'), ('d', 'b'))`,
    );
    expect(await problem()).to.deep.equal(broken);
  });

  it('reports missing newest rows, even after new entries follow', async () => {
    await recordFive();
    await tamper(
      'delete from audit_link where seq > 3',
      `delete from audit_entry where subject in ('d', 'e')`,
    );
    expect(await problem()).to.deep.equal({ problem: 'tail_missing', seq: 4, entryId: undefined });
    await record('f');
    expect(await problem()).to.deep.equal({ problem: 'link_missing', seq: 4, entryId: undefined });
  });

  const EXCHANGED = ['audit_entry', 'audit_link', 'audit_anchor', 'audit_unlinked'];
  /** Puts tables back as they were when this was called. */
  const copyOf = async (tables: readonly string[]) => {
    await query(url, tables.map((table) => `create table old_${table} as table ${table}`).join(';'));
    return () =>
      tamper(
        ...tables.flatMap((table) => [
          `delete from ${table}`,
          `insert into ${table} select * from old_${table}`,
        ]),
      );
  };

  it('is reported as missing when an old copy of the log replaces it', async () => {
    await recordFive();
    const restoreOld = await copyOf(EXCHANGED);
    await record('f');
    await linkEntries(chain);
    await restoreOld();
    expect(await problem()).to.deep.equal({ problem: 'tail_missing', seq: 6, entryId: undefined });
  });

  it('is reported as missing when the recorded head was replaced too, even after the next start', async () => {
    const file = openHeadFile(join(directory, 'audit-head'));
    await recordFive();
    const restoreOld = await copyOf([...EXCHANGED, 'audit_head']);
    const first = await start(file);
    await record('f');
    await first.stop();
    await restoreOld();
    await record('another f');
    await (await start(file)).stop();
    await record('g');
    await (await start(file)).stop();
    const own = await file.read();
    expect(own?.seq).to.equal(6);
    expect(await problem()).to.equal(undefined);
    expect(await problem(own)).to.deep.equal({ problem: 'head_differs', seq: 6, entryId: undefined });
  });

  for (const [what, statement] of [
    ['altered', 'update audit_head set seq = 4'],
    ['removed', 'delete from audit_head'],
    ['recorded for another key', 'update audit_head set key_id = gen_random_uuid()'],
  ] as const) {
    it(`stops when the recorded head was ${what}`, async () => {
      await recordFive();
      await query(url, statement);
      await record('f');
      const stopped = await linkEntries(chain).catch((error) => error);
      expect(stopped).to.include({ name: 'ChainStopped', problem: 'head_altered' });
      const { broken, queue } = await verifyAuditLog(chain);
      expect(broken).to.include({ problem: 'head_altered' });
      expect(queue.count).to.equal(1);
    });
  }

  it('continues after a hub that notes no heads has linked entries', async () => {
    await recordFive();
    const restoreOld = await copyOf(['audit_head']);
    await record('f');
    await linkEntries(chain);
    await restoreOld();
    await record('g');
    expect(await problem()).to.equal(undefined);
  });

  it('has its head saved at the next check if the file could not be written', async () => {
    const file = openHeadFile(join(directory, 'later', 'audit-head'));
    const monitor = await createHeadMonitor({ ...chain, file, logger: LOGGER });
    await recordFive();
    const failed = await monitor.check().catch((error: unknown) => messageOf(error));
    expect(failed).to.match(/^cannot write the head/);
    await mkdir(join(directory, 'later'));
    const head = await monitor.check();
    expect(head.seq).to.equal(5);
    expect(await file.read()).to.deep.equal(head);
  });

  it('detects removed newest rows and a full rewrite by a saved head', async () => {
    await recordFive();
    const savedHead = await readHead(db.pool);
    await record('f');
    expect(await problem(savedHead)).to.equal(undefined);
    expect(await problem({ ...savedHead, hash: '0'.repeat(64) })).to.include({
      problem: 'head_differs',
      seq: 5,
    });
    await tamper(
      'delete from audit_link where seq > 3',
      `delete from audit_entry where subject in ('d', 'e', 'f')`,
    );
    expect(await problem(savedHead)).to.deep.equal({ problem: 'tail_missing', seq: 4, entryId: undefined });
  });

  it('stops a verification that nobody waits for', async () => {
    await recordFive();
    const walked = await verifyAll(chain, { signal: AbortSignal.abort(new Error('hung up')) }).catch(
      (error: Error) => error,
    );
    expect(walked).to.have.property('message', 'hung up');
  });

  it('cannot be continued with another key', async () => {
    await record('a');
    await linkEntries(chain);
    const key = await readChainKey(db.pool, chain.sealer);
    const links = await readLinks(db.pool, 0, 1);
    const entry = links[0]?.entry ?? expect.fail('no entry');
    const other = { secret: createSecretKey(Buffer.alloc(32)) };
    const hash = linkHash(other, { seq: 0, hash: '0'.repeat(64) }, links[0]?.linkedAt ?? '', entry);
    expect(hash).to.not.equal(
      linkHash(key, { seq: 0, hash: '0'.repeat(64) }, links[0]?.linkedAt ?? '', entry),
    );
    await tamper(`update audit_link set hash = '\\x${hash}'`);
    expect(await problem()).to.include({ problem: 'row_altered', seq: 1 });
  });

  it('keeps links made before entries had a kind, a token and a certificate of the actor', async () => {
    const key = await readChainKey(db.pool, chain.sealer);
    const linked = { id: newUuid(), at: now.toISOString(), actor: 'Ada', action: 'app.create', subject: 'x' };
    const entry = { ...linked, before: null, after: { slug: 'x' }, detail: {}, requestId: null };
    const before = createHmac('sha256', key.secret)
      .update(canonicalize({ seq: 1, previous: '0'.repeat(64), linkedAt: now.toISOString(), entry }) ?? '')
      .digest('hex');
    const columns = { actorKind: null, actorTokenId: null, actorCertificate: null };
    const begin = { seq: 0, hash: '0'.repeat(64) };
    expect(linkHash(key, begin, now.toISOString(), { ...entry, ...columns })).to.equal(before);
  });

  it('has one key, created once, that survives a change of the master key', async () => {
    await recordFive();
    const next = freshMasterKey();
    const both = createSealer([next, masterKey]);
    const record = () => Promise.resolve();
    await resealSecrets({ pool: db.pool, sealer: both, clock, columns: [AUDIT_KEY], record });
    const resealed = { ...chain, sealer: createSealer([next]) };
    await Promise.all(Array.from({ length: 4 }, () => beginFirstChain(resealed, undefined)));
    expect((await verifyAll(resealed)).broken).to.equal(undefined);
  });

  for (const [what, statement] of [
    ['is gone', 'delete from audit_key'],
    ['is another one', `update audit_key set sealed_key = sealed_key || '\\x00'`],
    [
      'is not the only one',
      'insert into audit_key select gen_random_uuid(), sealed_key, created_at from audit_key',
    ],
  ] as const) {
    it(`stops with a key that ${what}, and creates no new one`, async () => {
      await recordFive();
      await query(url, statement);
      await record('f');
      await beginFirstChain(chain, undefined);
      const stopped = await linkEntries(chain).catch((error) => error);
      expect(stopped).to.include({ name: 'ChainStopped', problem: 'key_missing' });
      expect((await verifyAuditLog(chain)).broken).to.include({ problem: 'key_missing' });
    });
  }

  it('does not begin in an empty log if the hub has saved a head', async () => {
    await query(url, 'delete from audit_key; delete from audit_head');
    await beginFirstChain(chain, { seq: 3, hash: 'a'.repeat(64) });
    expect((await verifyAuditLog(chain)).broken).to.include({ problem: 'key_missing' });
  });

  it('is begun anew by an admin only, records the admin, and proves later entries', async () => {
    await recordFive();
    const old = await readHead(db.pool);
    const refused = await beginChain(chain, { reason: 'for fun', lastSeen: undefined }, ACTOR).catch(
      (e) => e,
    );
    expect(refused).to.have.property('code', 'audit_chain_unbroken');
    await query(url, 'delete from audit_key');
    await tamper('delete from audit_link where seq > 3', `delete from audit_entry where subject = 'e'`);
    const savedHead = { seq: 9, hash: 'a'.repeat(64) };
    const head = await beginChain(chain, { reason: 'the old server burnt', lastSeen: savedHead }, ACTOR);
    expect(head).to.deep.equal({ seq: 9, hash: '0'.repeat(64) });
    await record('f');
    const verified = await verifyAll(chain);
    // d, which had lost its link, the record of the beginning, and f
    expect(verified).to.deep.include({ broken: undefined, entries: 3, beginsAfter: 9 });
    expect(verified.head.seq).to.equal(12);
    const [entry] = await query(
      url,
      `select actor, before->>'problem' as problem, detail->>'reason' as reason from audit_entry where action = 'audit.begin_chain'`,
    );
    expect(entry).to.deep.equal({ actor: 'Ada', problem: 'key_missing', reason: 'the old server burnt' });
    expect(await problem(old)).to.deep.equal({ problem: 'head_differs', seq: 5, entryId: undefined });
    await tamper(`update audit_entry set subject = 'g' where subject = 'd'`);
    expect(await problem()).to.include({ problem: 'row_altered', seq: 10 });
  });

  it('reports the number of unlinked entries, and fails after minutes', async () => {
    await recordFive();
    await record('f');
    await record('g');
    now = new Date(now.getTime() + 4 * 60_000);
    const soon = await verifyAuditLog(chain);
    expect(soon.broken).to.equal(undefined);
    expect(soon.queue).to.deep.equal({ count: 2, since: new Date('2026-05-01T12:00:00.000Z') });
    now = new Date(now.getTime() + 2 * 60_000);
    expect((await verifyAuditLog(chain)).broken).to.include({ problem: 'entries_unlinked' });
    expect(await problem()).to.equal(undefined);
  });
});

describe('the audit chain of a log with entries and no chain', () => {
  it('is begun by an admin with the existing entries', async () => {
    const url = await createMigratedDatabase();
    const db = await openHubDatabase({ url }, 4, LOGGER);
    const clock = () => new Date();
    await query(
      url,
      `insert into audit_entry (id, at, actor, action, subject, detail)
       select gen_random_uuid(), now(), 'Ada', 'app.create', n::text, '{"slug": "x"}' from generate_series(1, 700) n`,
    );
    const chain = { pool: db.pool, sealer: createSealer([freshMasterKey()]), clock };
    await beginFirstChain(chain, undefined);
    expect((await verifyAuditLog(chain)).broken).to.include({ problem: 'key_missing' });
    await beginChain(chain, { reason: 'there was none', lastSeen: undefined }, ACTOR);
    const { entries, broken } = await verifyAll(chain);
    await db.close();
    expect({ entries, broken }).to.deep.equal({ entries: 701, broken: undefined });
  });
});
