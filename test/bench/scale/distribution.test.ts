// Checks the statements of docs/scale.md about distributed tables and Redis Cluster against the schema and
// the commands.
import { expect } from 'chai';
import { Redis } from 'ioredis';
import { startHub } from '../../support/hub/hub.ts';
import { issueLicense } from '../../support/hub/license.ts';
import { activate, checkStatus } from '../../support/network/rest.ts';
import { query } from '../../support/postgres/databases.ts';
import { requireRedis } from '../../support/redis/redis.ts';
import { until } from '../../support/until.ts';

/** The distribution column of each table. All other tables are small and would be copied to every node. */
const DISTRIBUTED: Readonly<Record<string, string>> = {
  license: 'id',
  license_activity: 'license_id',
  seat: 'license_id',
  charge_session: 'id',
  callback: 'session_id',
  verification: 'session_id',
  usage_log: 'id',
  fee_line: 'usage_log_id',
  payment_proof: 'value',
};

/** Unique constraints that lack the distribution column. Each needs a separate table or another key. */
const TO_CHANGE = [
  'callback: callback_pkey',
  'charge_session: charge_session_idempotency_key',
  'charge_session: charge_session_merchant_transaction_id_key',
  'charge_session: charge_session_provider_payment_id_key',
  'license: license_key_hash_key',
  'seat: seat_pkey',
  'verification: verification_pkey',
];

describe('for a distributed PostgreSQL', () => {
  it('each unique key includes the distribution column of its table, with known exceptions', async () => {
    const hub = await startHub();
    const rows = await query<{ table: string; key: string; columns: string[] }>(
      hub.databaseUrl,
      `select t.relname as "table", c.relname as key, array_agg(a.attname::text) as columns
       from pg_index i join pg_class c on c.oid = i.indexrelid join pg_class t on t.oid = i.indrelid
       join pg_attribute a on a.attrelid = t.oid and a.attnum = any(i.indkey)
       where i.indisunique and not t.relispartition and t.relnamespace = 'public'::regnamespace
       group by t.relname, c.relname order by t.relname, c.relname`,
    );
    await hub.stop();
    const without = rows.filter(({ table, columns }) => {
      const column = DISTRIBUTED[table];
      return column !== undefined && !columns.includes(column);
    });
    expect(without.map(({ table, key }) => `${table}: ${key}`)).to.deep.equal(TO_CHANGE);
    expect(new Set(rows.map(({ table }) => table))).to.include.all.keys(Object.keys(DISTRIBUTED));
  });
});

describe('for a Redis Cluster', () => {
  it('no command of a hub has keys in two slots', async function () {
    const redisUrl = requireRedis(this);
    const watcher = new Redis(redisUrl);
    const asker = watcher.duplicate();
    const commands: string[][] = [];
    const monitor = await watcher.monitor();
    monitor.on('monitor', (_time: string, args: string[], source: string) => {
      // A script uses only the keys passed to it. COMMAND is this test's own call.
      if (source !== 'lua' && args[0] !== 'COMMAND' && args.some((arg) => arg.startsWith('hub:')))
        commands.push(args);
    });
    const hub = await startHub({
      settings: { redisUrl, licenseRatePerMinute: 1_000, wrongGuesses: 10 },
    });
    const { licenseId, licenseKey } = await issueLicense(hub.admin);
    await activate(hub.gatewayUrl, licenseKey, 'machine');
    await checkStatus(hub.gatewayUrl, licenseId, 'machine');
    await checkStatus(hub.gatewayUrl, licenseId, 'no such machine');
    await until(() => commands.length >= 3, 'the commands of the hub are seen');
    monitor.disconnect();
    for (const command of commands) {
      const keys = (await asker.call('COMMAND', 'GETKEYS', ...command)) as string[]; // documented result type
      expect(new Set(keys.map(slotOf)).size, command.join(' ')).to.equal(1);
    }
    for (const client of [watcher, asker]) client.disconnect();
    await hub.stop();
  });
});

/**
 * The slot of a key by the Redis Cluster specification: CRC16 (XMODEM) of the key, or of the text in its
 * first braces, modulo 16384.
 */
function slotOf(key: string): number {
  const [, tag] = /^[^{]*\{([^}]+)\}/.exec(key) ?? [];
  let crc = 0;
  for (const byte of Buffer.from(tag ?? key)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1;
    crc &= 0xffff;
  }
  return crc % 16_384;
}
