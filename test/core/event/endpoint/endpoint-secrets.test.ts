// The secrets of endpoints: what they sign, and where they may stand.
import { createWriteStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { takeBackup } from '../../../../core/backup/take-backup.ts';
import { systemClock } from '../../../../core/clock.ts';
import {
  formatKeyRing,
  loadMasterKeyFile,
  newKeyRing,
} from '../../../../core/storage/secrets/key-ring-file.ts';
import { AuditService } from '../../../../gen/hub/access/v1/audit_service_pb.ts';
import { PaymentAdminService } from '../../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { unpackBackup } from '../../../support/hub/backup-file.ts';
import { createCanaries, dumpOf } from '../../../support/hub/canaries.ts';
import { discard, makeDataDir } from '../../../support/hub/data-dir.ts';
import { startHub, type TestHub } from '../../../support/hub/hub.ts';
import { createApp, issueLicense } from '../../../support/hub/license.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../../../support/network/webhook-receiver.ts';
import { signersOf } from '../../../support/network/webhook-signature.ts';
import { createMigratedDatabase } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';
import { addEndpoint, eventClient, RECEIVER_SETTINGS } from '../event-scene.ts';

const HOUR_MS = 3_600_000;

describe('the secrets of endpoints', () => {
  let shared: { dataDir: string; databaseUrl: string };
  let hub: TestHub;
  let receiver: WebhookReceiver;
  let app: string;
  let aheadMs = 0;
  const log: string[] = [];
  const start = async (): Promise<void> => {
    const sink = new Writable({
      write(chunk, _encoding, done) {
        log.push(String(chunk));
        done();
      },
    });
    const clock = () => new Date(Date.now() + aheadMs);
    hub = await startHub({ settings: RECEIVER_SETTINGS, beside: shared, clock, log: sink });
  };
  before(async () => {
    shared = { dataDir: await makeDataDir(), databaseUrl: await createMigratedDatabase() };
    await start();
    app = await createApp(hub.admin);
  });
  after(async () => {
    await hub.stop();
    await discard(shared.dataDir);
  });
  beforeEach(async () => {
    receiver = await startWebhookReceiver();
  });
  afterEach(() => receiver.close());

  /** The secrets that sign the next webhook. */
  const signers = async (secrets: readonly string[]): Promise<string[]> => {
    const before = receiver.received.length;
    await issueLicense(hub.admin, { app });
    await until(() => receiver.received.length > before, 'a webhook is received');
    const webhook = receiver.received.at(-1);
    return webhook ? signersOf(webhook, secrets) : [];
  };

  it('sign with the old one for the requested hours', async () => {
    const events = eventClient(hub);
    const { endpointId, secret } = await addEndpoint(events, receiver.url);
    expect(await signers([secret])).to.deep.equal([secret]);
    const { secret: next } = await events.rotateEndpointSecret({ endpointId, keepHours: 2 });
    expect(await signers([secret, next])).to.deep.equal([secret, next]);
    aheadMs += 2 * HOUR_MS + 1_000;
    expect(await signers([secret, next])).to.deep.equal([next]);
    const { secret: last } = await events.rotateEndpointSecret({ endpointId, keepHours: 0 });
    expect(await signers([secret, next, last])).to.deep.equal([last]);
    await events.removeEndpoint({ endpointId });
  });

  it('stand in no table, log, backup or export of the audit log', async () => {
    const canaries = createCanaries();
    const events = eventClient(hub);
    const { endpointId, secret } = await addEndpoint(events, receiver.url);
    const { secret: next } = await events.rotateEndpointSecret({ endpointId });
    for (const each of [secret, next]) {
      canaries.add(each);
      canaries.add(Buffer.from(each.replace('whsec_', ''), 'base64').toString('hex'));
    }
    expect(await signers([secret, next])).to.have.length(2);
    await events.testEndpoint({ endpointId });
    const path = join(shared.dataDir, 'backup.age');
    const encryption = { passphrase: 'a long passphrase', logN: 2 };
    const keys = loadMasterKeyFile(join(shared.dataDir, 'master.key'));
    const address = { url: shared.databaseUrl };
    await takeBackup(
      { address, keys, hubVersion: '0', encryption, clock: systemClock },
      createWriteStream(path),
    );
    const files = await unpackBackup(path, encryption.passphrase);
    const exported: string[] = [];
    for await (const { entries } of createClient(AuditService, hub.transport).exportAuditLog({})) {
      exported.push(
        ...entries.map(({ entry }) => JSON.stringify([entry?.before, entry?.after, entry?.detail])),
      );
    }
    expect(exported.join()).to.contain('previousSecretUntil');
    expect(log.join('')).to.contain('RotateEndpointSecret');
    for (const [where, text] of Object.entries({
      database: await dumpOf(shared.databaseUrl),
      backup: files.map(({ content }) => content.toString('latin1')).join('\n'),
      log: log.join(''),
      audit: exported.join(),
    })) {
      expect(canaries.found(text), where).to.deep.equal([]);
    }
    await events.removeEndpoint({ endpointId });
  });

  it('are sealed again for a new master key', async () => {
    const { endpointId, secret } = await addEndpoint(eventClient(hub), receiver.url);
    const { secret: next } = await eventClient(hub).rotateEndpointSecret({ endpointId });
    await hub.stop();
    const file = join(shared.dataDir, 'master.key');
    const added = newKeyRing();
    await writeFile(file, formatKeyRing([...added, ...loadMasterKeyFile(file)]));
    await start();
    await createClient(PaymentAdminService, hub.transport).reencryptSecrets({});
    await hub.stop();
    await writeFile(file, formatKeyRing(added));
    expect(await readFile(file, 'utf8')).not.to.equal('');
    await start();
    expect(await signers([secret, next])).to.deep.equal([secret, next]);
  });
});
