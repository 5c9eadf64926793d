// The audit log is append-only: neither the hub's own role nor a superuser can change it.
import { expect } from 'chai';
import pg from 'pg';
import { pino } from 'pino';
import { openHubDatabase } from '../../../core/hub/database.ts';
import { migrateUp } from '../../../core/storage/schema/migrate.ts';
import { makePartitions } from '../../../core/storage/schema/partitions.ts';
import { asSuperuser, createDatabase, query } from '../../support/postgres/databases.ts';

const CHANGES = [
  `update audit_entry set actor = 'Eve'`,
  'delete from audit_entry',
  'truncate audit_entry',
  'update audit_link set seq = 2',
  'delete from audit_link',
  'truncate audit_link',
  ...['audit_entry_default', 'audit_entry_2026_05', 'audit_link_default', 'audit_link_2026_05'].flatMap(
    (table) => [
      `update ${table} set ${table.startsWith('audit_link') ? 'seq = 2' : "actor = 'Eve'"}`,
      `delete from ${table}`,
      `truncate ${table}`,
    ],
  ),
];
const [OLD, NEW] = ['01900000-0000-7000-8000-000000000000', '019dea00-0000-7000-8000-000000000000'];
const INSERTS = [OLD, NEW].flatMap((id, index) => [
  `insert into audit_entry (id, at, actor, action, subject, detail)
   values ('${id}', now(), 'Ada', 'app.create', 'a', '{}')`,
  `insert into audit_link (seq, entry_id, linked_at, hash) values (${index}, '${id}', now(), '')`,
]);

describe('the audit log', () => {
  /** What each change is answered with, on one connection. */
  const answers = async (url: string, first: string[]): Promise<string[]> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    for (const statement of first) await client.query(statement);
    const answered: string[] = [];
    for (const change of CHANGES) {
      answered.push(
        await client.query(change).then(
          () => 'done',
          (error: pg.DatabaseError) => `${error.code} ${error.message}`,
        ),
      );
    }
    await client.end();
    return answered;
  };
  const migrate = async (url: string) => {
    const db = await openHubDatabase({ url }, 2, pino({ level: 'silent' }));
    await migrateUp(db);
    await makePartitions(db.pool, new Date('2026-05-01T00:00:00Z'));
    await db.close();
    for (const insert of INSERTS) await query(url, insert);
  };

  it('refuses changes by a superuser, even one acting as a replica', async () => {
    const url = asSuperuser(await createDatabase());
    await migrate(url);
    for (const first of [[], ['set session_replication_role = replica']]) {
      for (const answer of await answers(url, first))
        expect(answer).to.match(/^42501 the audit log is append-only/);
    }
  });

  it('lets the owner of the tables add entries only', async () => {
    const url = await createDatabase();
    await migrate(url);
    for (const answer of await answers(url, []))
      expect(answer).to.match(/^42501 permission denied for table/);
  });
});
