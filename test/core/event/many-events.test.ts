// Thousands of events at once, and what a backup keeps of them.
import { createReadStream, createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { openQuietly } from '../../../cli/backup/local-database.ts';
import { restoreBackup } from '../../../core/backup/restore-backup.ts';
import { takeBackup } from '../../../core/backup/take-backup.ts';
import { systemClock } from '../../../core/clock.ts';
import { openDataDir } from '../../../core/storage/data-dir.ts';
import { loadMasterKeyFile } from '../../../core/storage/secrets/key-ring-file.ts';
import { discard, makeDataDir } from '../../support/hub/data-dir.ts';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../support/hub/license.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../../support/network/webhook-receiver.ts';
import { createDatabase, createMigratedDatabase, query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { addEndpoint, eventClient, RECEIVER_SETTINGS } from './event-scene.ts';

const MANY = 5_000;
const PASSPHRASE = 'a long passphrase';

describe('many events', () => {
  let directory: string;
  let shared: { dataDir: string; databaseUrl: string };
  let hub: TestHub;
  let receiver: WebhookReceiver;
  before(async () => {
    directory = await makeDataDir();
    shared = { dataDir: join(directory, 'data'), databaseUrl: await createMigratedDatabase() };
    hub = await startHub({ settings: RECEIVER_SETTINGS, beside: shared });
    receiver = await startWebhookReceiver();
  });
  after(async () => {
    await hub.stop();
    await receiver.close();
    await discard(directory);
  });

  const numbersOf = async (databaseUrl: string) => {
    const [row] = await query<{ count: number; different: number; last: number; counter: number }>(
      databaseUrl,
      `select count(*)::int, count(distinct number)::int as different, max(number)::int as last,
              (select last_number::int from event_counter) as counter from event`,
    );
    return row;
  };
  const untilNumbered = async (type: string, count: number): Promise<void> => {
    const text = 'select count(*)::int as count from event where type = $1';
    const isNumbered = async () =>
      (await query<{ count: number }>(hub.databaseUrl, text, [type]))[0]?.count === count;
    await until(isNumbered, `${count} events are numbered`, 30_000);
  };

  it('are recorded for licenses that are issued at once', async () => {
    const app = await createApp(hub.admin);
    const issue = () => hub.admin.issueLicenses({ app, seatLimit: 1, count: MANY / 5 });
    await Promise.all([issue(), issue(), issue(), issue(), issue()]);
    await untilNumbered('license.issued', MANY);
    expect(await numbersOf(hub.databaseUrl)).to.include({
      count: MANY,
      different: MANY,
      last: MANY,
      counter: MANY,
    });
  });

  it('are recorded for an import, and an endpoint can change meanwhile', async () => {
    const app = await createApp(hub.admin);
    const licenses = Array.from({ length: MANY }, (_, index) => ({
      licenseKey: `KEY-${index}-OF-ANOTHER-SYSTEM`,
    }));
    await hub.admin.importLicenses(
      (async function* () {
        yield { app };
        for (let from = 0; from < MANY; from += 500) yield { licenses: licenses.slice(from, from + 500) };
      })(),
    );
    await addEndpoint(eventClient(hub), receiver.url, { events: ['license.*'] });
    await untilNumbered('license.imported', MANY);
    expect(await numbersOf(hub.databaseUrl)).to.include({
      count: 2 * MANY,
      different: 2 * MANY,
      counter: 2 * MANY,
    });
    expect(receiver.received).to.deep.equal([]);
  });

  it('go on in a restored backup, with the deliveries that were pending', async () => {
    receiver.answer = () => 500;
    const { licenseId } = await issueLicense(hub.admin);
    await until(() => receiver.received.length === 1, 'the first attempt is made');
    const before = await numbersOf(hub.databaseUrl);
    await hub.stop();
    // Committed, and not yet numbered.
    await query(
      shared.databaseUrl,
      `insert into event_outbox (type, object_ids, app_ids, slot_ids, at)
       select 'license.suspended', array[id], array[app_id], '{null}', now() from license order by id desc limit 1`,
    );
    const file = join(directory, 'backup.age');
    const keys = loadMasterKeyFile(join(shared.dataDir, 'master.key'));
    const encryption = { passphrase: PASSPHRASE, logN: 2 };
    const address = { url: shared.databaseUrl };
    await takeBackup(
      { address, keys, hubVersion: '0', encryption, clock: systemClock },
      createWriteStream(file),
    );
    const restored = { dataDir: join(directory, 'restored'), databaseUrl: await createDatabase() };
    await restoreBackup(createReadStream(file), {
      findDatabase: async () => ({ url: restored.databaseUrl }),
      openDatabase: openQuietly,
      dataDir: () => openDataDir(restored.dataDir),
      masterKey: {},
      hubVersion: '0',
      passphrase: PASSPHRASE,
    });
    receiver.answer = () => 204;
    hub = await startHub({ settings: RECEIVER_SETTINGS, beside: restored });
    await until(
      () => receiver.received.some(({ event }) => event.type === 'license.suspended'),
      'it is numbered',
    );
    await until(
      () => receiver.received.filter(({ event }) => event.type === 'license.issued').length === 2,
      'the pending one is delivered',
      20_000,
    );
    const delivered = receiver.received.filter(({ event }) => event.data['licenseId'] === licenseId);
    expect(new Set(delivered.map(({ event }) => event.sequence))).to.deep.equal(
      new Set([before?.counter, (before?.counter ?? 0) + 1]),
    );
    const { count, ...numbers } = (await numbersOf(restored.databaseUrl)) ?? {};
    expect(numbers).to.deep.equal({ different: count, last: count, counter: count });
  });
});
