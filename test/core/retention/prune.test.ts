// Pruning: it drops months permanently, keeps waiting callbacks, and leaves a verifiable audit log.
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { pino } from 'pino';
import { beginFirstChain } from '../../../core/audit/begin-chain.ts';
import { beginOf, type ChainOptions, readHead } from '../../../core/audit/chain.ts';
import { exportEntries, type LinkedEntry } from '../../../core/audit/export-entries.ts';
import { linkEntries } from '../../../core/audit/link-entries.ts';
import { createAuditPruneGuard } from '../../../core/audit/prune-guard.ts';
import { openHubDatabase } from '../../../core/hub/database.ts';
import { checkNoneUnprocessed } from '../../../core/payment/callbacks/prune-guard.ts';
import { listUsage } from '../../../core/payment/usage/list-usage.ts';
import { createPrune, type Pruned, type PruneGuard } from '../../../core/retention/prune.ts';
import type { Database } from '../../../core/storage/database.ts';
import { migrateUp } from '../../../core/storage/schema/migrate.ts';
import { makePartitions } from '../../../core/storage/schema/partitions.ts';
import { createSealer } from '../../../core/storage/secrets/sealing.ts';
import { AuditService } from '../../../gen/hub/access/v1/audit_service_pb.ts';
import { RetentionService } from '../../../gen/hub/retention/v1/retention_service_pb.ts';
import { startHub } from '../../support/hub/hub.ts';
import { createApp } from '../../support/hub/license.ts';
import { asSuperuser, createMigratedDatabase, query } from '../../support/postgres/databases.ts';
import { verifyAll } from '../audit/verify-all.ts';
import { freshMasterKey } from '../payment/payment-admin.ts';
import { refusal } from '../payment/refusal.ts';

const ACTOR = { kind: 'token', name: 'Ada', requestId: 'r-1' } as const;

/** A UUIDv7 of that moment. */
function idAt(time: Date, tail: number): string {
  const hex = time.getTime().toString(16).padStart(12, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${String(tail).padStart(12, '0')}`;
}

describe('pruning', () => {
  let url: string;
  let db: Database;
  let chain: ChainOptions;
  let now: Date;
  let prune: ReturnType<typeof createPrune>;
  const clock = () => now;

  beforeEach(async () => {
    url = await createMigratedDatabase();
    db = await openHubDatabase({ url }, 4, pino({ level: 'silent' }));
    await migrateUp(db);
    const { pool } = db;
    now = new Date('2025-01-10T00:00:00.000Z');
    chain = { pool, sealer: createSealer([freshMasterKey()]), clock };
    await beginFirstChain(chain, undefined);
    await query(
      url,
      `select make_month_partitions(t, '{2025-01-01,2025-02-01,2025-03-01,2025-04-01}')
                      from unnest('{audit_entry,audit_link,callback,verification,usage_log,fee_line}'::text[]) t`,
    );
    const audit = createAuditPruneGuard(chain, () => linkEntries(chain));
    prune = createPrune({ pool, clock, guards: [{ check: checkNoneUnprocessed }, audit] });
  });
  afterEach(() => db.close());

  /** Entries of that moment, linked at once. */
  const record = async (time: string, ...subjects: string[]) => {
    now = new Date(time);
    for (const subject of subjects) {
      await query(
        url,
        `insert into audit_entry (id, at, actor, action, subject, detail) values ($1, $2, 'Ada', 'app.create', $3, '{}')`,
        [idAt(now, Number(subject)), now, subject],
      );
    }
    await linkEntries(chain);
  };
  const receive = (time: string, state: string, tail: number) =>
    query(
      url,
      `insert into callback (id, gateway, fields, received_at, state, reason, attempts)
       values ($1, 'gateway_one', '{}', $2, $3, '', 1)`,
      [idAt(new Date(time), tail), time, state],
    );
  const subjects = async () =>
    (
      await query<{ subject: string }>(
        url,
        `select subject from audit_entry where action = 'app.create' order by id`,
      )
    ).map(({ subject }) => subject);
  const exported = async () => {
    const entries: LinkedEntry[] = [];
    for await (const batch of exportEntries(db.pool, 0, beginOf({ beginsAfter: 0 }))) entries.push(...batch);
    return entries;
  };
  /** Entries 1 and 2 in January, 3 in February, 4 late of January, 5 in February, 6 in March, 7 in April. */
  const fourMonths = async () => {
    await record('2025-01-10T00:00:00Z', '1', '2');
    await record('2025-02-01T00:00:00.001Z', '3');
    await record('2025-01-31T23:59:59.999Z', '4');
    await record('2025-02-10T00:00:00Z', '5');
    await record('2025-03-10T00:00:00Z', '6');
    await record('2025-04-10T00:00:00Z', '7');
  };

  it('drops the earlier months of every table, and nothing else', async () => {
    await fourMonths();
    await receive('2025-02-28T23:59:59.999Z', 'settled', 1);
    await receive('2025-03-01T00:00:00.000Z', 'settled', 2);
    const counted = await prune({ before: '2025-03', dryRun: true }, ACTOR);
    expect(counted.filter(({ rows }) => rows).map(({ name, rows }) => `${name} ${rows}`)).to.deep.equal([
      'audit_entry_2025_01 3',
      'audit_link_2025_01 3',
      'audit_entry_2025_02 2',
      'audit_link_2025_02 2',
      'callback_2025_02 1',
    ]);
    expect(await subjects()).to.have.length(7);
    const dropped = await prune({ before: '2025-03', dryRun: false }, ACTOR);
    expect(dropped.map(({ name }) => name))
      .to.deep.equal(counted.map(({ name }) => name))
      .and.have.length(12);
    expect(await subjects()).to.deep.equal(['6', '7']);
    expect(
      await query(url, 'select received_at at time zone $1 as at from callback', ['UTC']),
    ).to.have.length(1);
    expect(await prune({ before: '2025-03', dryRun: false }, ACTOR)).to.deep.equal([]);
    const [entry] = await query<{ actor: string; before: { partitions: string[] } }>(
      url,
      `select actor, before from audit_entry where action = 'retention.prune' and subject = '2025-03'`,
    );
    expect(entry?.actor).to.equal('Ada');
    expect(entry?.before.partitions).to.include('callback_2025_02');
  });

  describe('keeps a usage entry and its fees until the month of its settlement is dropped:', () => {
    const settle = async (created: string, settled: string, tail: number) => {
      const id = idAt(new Date(created), tail);
      await query(
        url,
        `insert into usage_log (id, kind, session_id, slot_id, gateway, gateway_transaction_id, amount_minor,
                                currency, fee_total_minor, order_reference, settled_at)
         select $1::uuid, 'payment', $1::uuid, id, gateway, $2, 10000, 'BDT', 150, '', $3 from slot`,
        [id, `V${tail}`, settled],
      );
      await query(
        url,
        `insert into fee_line (usage_log_id, fee_rule_id, rule, rule_version, amount_minor)
         select $1, id, name, version, 150 from fee_rule`,
        [id],
      );
    };
    const listed = async (from: string, to: string) => {
      const filter = { slot: undefined, from: new Date(from), to: new Date(to) };
      const { items } = await listUsage(db, filter, { pageSize: 100, pageToken: '' });
      return items.map(({ usageLog, fees }) => `${usageLog.gatewayTransactionId} with ${fees.length} fees`);
    };
    const usageOf = (pruned: readonly Pruned[]) =>
      pruned
        .filter(({ table }) => table === 'usage_log' || table === 'fee_line')
        .map(({ name, rows }) => `${name} ${rows}`);

    beforeEach(async () => {
      await query(
        url,
        `insert into slot (id, name, gateway, environment, base_url, options, sealed_credentials, created_at, rotated_at)
         values (gen_random_uuid(), 'main', 'gateway_one', 'sandbox', 'http://127.0.0.1:1/', '{}', '', now(), now());
         insert into fee_rule (id, name, version, basis_points, fixed_minor, valid_from, created_at)
         values (gen_random_uuid(), 'processing', 1, 150, 0, now(), now())`,
      );
      await settle('2025-02-28T23:50:00Z', '2025-02-28T23:59:59.999Z', 1);
      await settle('2025-02-28T23:55:00Z', '2025-03-01T00:00:00Z', 2);
      await settle('2025-01-05T00:00:00Z', '2025-04-01T00:00:00Z', 3);
      now = new Date('2025-04-10T00:00:00Z');
    });

    it('drops the others, and counts only these', async () => {
      const counted = await prune({ before: '2025-03', dryRun: true }, ACTOR);
      expect(usageOf(counted)).to.deep.equal(['fee_line_2025_02 1', 'usage_log_2025_02 1']);
      const dropped = await prune({ before: '2025-03', dryRun: false }, ACTOR);
      expect(dropped.map(({ name }) => name)).to.deep.equal(counted.map(({ name }) => name));
      expect(await listed('2025-02-01', '2025-03-01')).to.deep.equal([]);
      expect(await listed('2025-03-01', '2025-04-01')).to.deep.equal(['V2 with 1 fees']);
      expect(await listed('2025-04-01', '2025-05-01')).to.deep.equal(['V3 with 1 fees']);
    });

    it('a repeated prune drops nothing, and later ones drop each entry in its turn', async () => {
      await prune({ before: '2025-03', dryRun: false }, ACTOR);
      await makePartitions(db.pool, now);
      expect(await prune({ before: '2025-03', dryRun: true }, ACTOR)).to.deep.equal([]);
      expect(await prune({ before: '2025-03', dryRun: false }, ACTOR)).to.deep.equal([]);
      expect(await listed('2025-01-01', '2025-05-01')).to.have.members(['V2 with 1 fees', 'V3 with 1 fees']);

      expect(usageOf(await prune({ before: '2025-04', dryRun: true }, ACTOR))).to.deep.equal([
        'fee_line_2025_02 1',
        'usage_log_2025_02 1',
        'fee_line_2025_03 0',
        'usage_log_2025_03 0',
      ]);
      await prune({ before: '2025-04', dryRun: false }, ACTOR);
      expect(await listed('2025-01-01', '2025-05-01')).to.deep.equal(['V3 with 1 fees']);
      now = new Date('2025-05-10T00:00:00Z');
      await prune({ before: '2025-05', dryRun: false }, ACTOR);
      expect(await listed('2025-01-01', '2025-05-01')).to.deep.equal([]);
      expect(await query(url, 'select from fee_line')).to.deep.equal([]);
    });
  });

  it('leaves an audit log whose rest can be verified, month after month', async () => {
    await fourMonths();
    const savedHead = await readHead(db.pool);
    for (const [before, left] of [
      ['2025-02', ['3', '5', '6', '7']],
      ['2025-03', ['6', '7']],
      ['2025-04', ['7']],
    ] as const) {
      await prune({ before, dryRun: false }, ACTOR);
      expect(await subjects(), before).to.deep.equal(left);
      const { broken } = await verifyAll(chain, { expected: savedHead });
      expect(broken, before).to.equal(undefined);
      for (const { seq, previousHash } of await exported())
        expect(previousHash, `${seq}`).to.match(/^[0-9a-f]{64}$/);
    }
  });

  it('keeps the log verifiable at every moment, also during a verification', async () => {
    now = new Date('2025-01-10T00:00:00Z');
    await query(
      url,
      `insert into audit_entry (id, at, actor, action, subject, detail)
       select ('01944d2a-1000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, $1, 'Ada', 'app.create', n::text, '{}'
       from generate_series(1, 1700) n`,
      [now],
    );
    await linkEntries(chain);
    now = new Date('2025-04-10T00:00:00Z');
    await record('2025-04-10T00:00:00Z', '1', '2');
    let isPruned = false;
    const pruning = (async () => {
      for (const month of ['2025-02', '2025-03', '2025-04']) {
        await prune({ before: month, dryRun: false }, ACTOR);
      }
    })().finally(() => {
      isPruned = true;
    });
    pruning.catch(() => {}); // told below
    while (!isPruned) expect((await verifyAll(chain)).broken).to.equal(undefined);
    await pruning;
    expect((await verifyAll(chain)).broken).to.equal(undefined);
  });

  it('continues the chain when all of it was pruned', async () => {
    await record('2025-01-10T00:00:00Z', '1', '2');
    now = new Date('2025-04-10T00:00:00Z');
    await prune({ before: '2025-04', dryRun: false }, ACTOR);
    await record('2025-04-10T00:05:00Z', '3');
    const { head, broken } = await verifyAll(chain);
    expect({ seq: head.seq, broken }).to.deep.equal({ seq: 4, broken: undefined });
  });

  it('cannot be faked: rows deleted without a hub count as missing', async () => {
    await fourMonths();
    await query(
      url,
      `drop table audit_entry_2025_01, audit_link_2025_01;
       insert into audit_anchor select 2, 1, hash, now(), '' from audit_link where seq = 3`,
    );
    expect((await verifyAll(chain)).broken).to.include({ problem: 'link_missing', seq: 1 });
  });

  it('does not count a remaining row as pruned', async () => {
    await fourMonths();
    await prune({ before: '2025-02', dryRun: false }, ACTOR);
    await query(
      asSuperuser(url),
      `alter table audit_entry_2025_02 disable trigger user; alter table audit_link_2025_02 disable trigger user;
       delete from audit_entry where subject = '3'; delete from audit_link where seq = 3`,
    );
    expect((await verifyAll(chain)).broken).to.include({ problem: 'link_missing', seq: 3 });
  });

  it('leaves a verifiable audit log after checks that took longer than the log tolerates', async () => {
    await fourMonths();
    const slow: PruneGuard = {
      async prepare() {
        await record('2025-04-10T00:11:00Z', '8');
        return undefined;
      },
      async check() {},
    };
    const audit = createAuditPruneGuard(chain, () => linkEntries(chain));
    const pruneSlowly = createPrune({ pool: db.pool, clock, guards: [audit, slow] });
    expect(await pruneSlowly({ before: '2025-02', dryRun: false }, ACTOR)).to.not.deep.equal([]);
    const { head, broken } = await verifyAll(chain);
    expect({ seq: head.seq, broken }).to.deep.equal({ seq: 9, broken: undefined });
  });

  it('is refused for months that are not over or have waiting callbacks, and drops nothing', async () => {
    await fourMonths();
    await receive('2025-02-10T00:00:00Z', 'received', 1);
    const attempt = (before: string) =>
      prune({ before, dryRun: false }, ACTOR).then(
        () => 'done',
        ({ code, message }) => `${code}: ${message}`,
      );
    expect(await attempt('2025-05')).to.equal(
      'month_not_over: only months that are over can be pruned: give 2025-04 or earlier',
    );
    expect(await attempt('2025-03')).to.match(
      /^months_in_use: 1 callbacks of these months are not processed yet/,
    );
    expect(await subjects()).to.have.length(7);
    expect(await attempt('2025-02')).to.equal('done');
  });

  describe('of months with a broken audit log', () => {
    /** An attacker with full access to the database. */
    const tamper = (statement: string) =>
      query(
        asSuperuser(url),
        `alter table audit_entry_2025_01 disable trigger user; alter table audit_link_2025_01 disable trigger user;
         ${statement}`,
      );
    const january = { before: '2025-02', dryRun: false };
    const cases: Record<string, { statement: string; broken: { problem: string; seq?: number } }> = {
      'a link and its row are gone': {
        statement: `delete from audit_entry where subject = '2'; delete from audit_link where seq = 2`,
        broken: { problem: 'link_missing', seq: 2 },
      },
      'the last link is gone': {
        statement: 'delete from audit_link where seq = 4',
        broken: { problem: 'row_unlinked' },
      },
      'a row is gone': {
        statement: `delete from audit_entry where subject = '1'`,
        broken: { problem: 'row_missing', seq: 1 },
      },
      'a row was changed': {
        statement: `update audit_entry set actor = 'Eve' where subject = '1'`,
        broken: { problem: 'row_altered', seq: 1 },
      },
      'a row is gone that was never linked': {
        statement: `insert into audit_unlinked (entry_id) values ('${idAt(new Date('2025-01-11T00:00:00Z'), 9)}')`,
        broken: { problem: 'row_missing' },
      },
    };
    for (const [what, { statement, broken }] of Object.entries(cases)) {
      it(`is refused, or recorded if accepted: ${what}`, async () => {
        await fourMonths();
        await tamper(statement);
        const kept = await subjects();
        for (const dryRun of [true, false]) {
          const refused = await prune({ ...january, dryRun }, ACTOR).catch((error) => error);
          expect(refused).to.include({ code: 'audit_log_broken' });
          expect(refused.message)
            .to.contain(`(${broken.problem}, ${broken.seq ? `link ${broken.seq}` : 'aud_'}`)
            .and.contain('--accept-broken-audit-log');
        }
        expect(await subjects()).to.deep.equal(kept);
        await prune({ ...january, acceptBroken: true }, ACTOR);
        expect(await subjects()).to.deep.equal(['3', '5', '6', '7']);
        const [entry] = await query<{ detail: object }>(
          url,
          `select actor, detail->'brokenAuditLog' as detail from audit_entry where action = 'retention.prune'`,
        );
        expect(entry).to.include({ actor: 'Ada' });
        expect(entry?.detail).to.include(broken);
      });
    }

    it('does not depend on the earlier months', async () => {
      await fourMonths();
      await query(
        asSuperuser(url),
        `alter table audit_entry_2025_03 disable trigger user; update audit_entry set actor = 'Eve' where subject = '6'`,
      );
      await prune(january, ACTOR);
      expect(await subjects()).to.deep.equal(['3', '5', '6', '7']);
    });
  });

  it('waits for readers of the rows that it drops', async () => {
    await fourMonths();
    const reader = await db.pool.connect();
    await reader.query('begin; select from audit_entry_2025_01 limit 1');
    const error = await prune({ before: '2025-02', dryRun: false }, ACTOR).catch((thrown) => thrown);
    await reader.query('commit');
    reader.release();
    expect(error).to.include({ code: 'prune_busy' });
    expect(await subjects()).to.have.length(7);
    expect((await verifyAll(chain)).broken).to.equal(undefined);
  });

  it('works while a hub serves, which creates its partitions by itself', async () => {
    const hub = await startHub();
    const retention = createClient(RetentionService, hub.transport);
    const month = new Date().toISOString().slice(0, 7);
    await createApp(hub.admin);
    expect(await makePartitions(db.pool, new Date())).to.be.greaterThan(0);
    await query(hub.databaseUrl, `select make_month_partitions('callback', '{2020-05-01}')`);
    const { partitions } = await retention.pruneMonths({ before: month });
    expect(partitions.map((partition) => `${partition.table} ${partition.month}`)).to.deep.equal([
      'callback 2020-05',
    ]);
    expect(await refusal(retention.pruneMonths({ before: '2999-01' }))).to.include({
      code: 'month_not_over',
    });
    expect((await createClient(AuditService, hub.transport).verifyAuditLog({})).ok).to.equal(true);
    await hub.stop();
  });
});
