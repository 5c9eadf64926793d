import { expect } from 'chai';
import { systemClock } from '../../../../core/clock.ts';
import { createApps, FIRST_DEFAULT_TERMS } from '../../../../core/license/admin/apps.ts';
import { createSigningKeyCache, sealedFor } from '../../../../core/license/keys/sign-license.ts';
import type { MasterKey } from '../../../../core/storage/secrets/key-ring-file.ts';
import { claimDatabase } from '../../../../core/storage/secrets/load-key-ring.ts';
import { inTransaction } from '../../../../core/storage/sql/transaction.ts';
import { query } from '../../../support/postgres/databases.ts';
import { until } from '../../../support/until.ts';
import { addSlot, CREDENTIALS, driverOf } from '../fake-gateway.ts';
import { freshMasterKey, type PaymentAdmin, startPaymentAdmin } from '../payment-admin.ts';

const ACTOR = { kind: 'token', name: 'the operator', requestId: '' } as const;
const NEW_CREDENTIALS = { clerk: 'Robert', password: 'sesame street' };
const SIGNING_KEYS = {
  table: 'signing_key',
  idColumn: 'id',
  sealedColumn: 'sealed_private_key',
  about: sealedFor,
};

describe('re-sealing with a new master key', () => {
  let oldKey: MasterKey;
  let newKey: MasterKey;
  let databaseUrl: string;
  let running: PaymentAdmin[];

  beforeEach(async () => {
    [oldKey, newKey, running] = [freshMasterKey(), freshMasterKey(), []];
    databaseUrl = (await start([oldKey])).databaseUrl;
  });
  afterEach(() => Promise.all(running.map((hub) => hub.stop())));

  it('leaves nothing that requires the old key', async () => {
    const [former, both] = [running[0] ?? expect.fail('no hub'), await start([newKey, oldKey])];
    const kid = await makeSigningKey(former);
    // More than one batch of slots, and tokens.
    const slots = await addSlots(former, 60);
    for (const { id } of slots.slice(0, 3)) await cacheToken(former, id, `token of ${id}`);
    expect(await startUp([newKey])).to.contain(`encrypted with master key ${oldKey.id}`);

    const { resealed, masterKeyId } = await both.client.reencryptSecrets({});
    expect({ resealed, masterKeyId }).to.deep.equal({ resealed: 60 + 3 + 1, masterKeyId: newKey.id });

    const after = await start([newKey]);
    for (const { id } of slots) expect(await credentialsOf(after, id)).to.deep.equal(CREDENTIALS);
    for (const { id } of slots.slice(0, 3))
      expect(await cacheToken(after, id, 'another')).to.equal(`token of ${id}`);
    expect((await createSigningKeyCache(after.db.pool, after.sealer).get(kid)).privateKey.type).to.equal(
      'private',
    );
    expect(await startUp([newKey])).to.equal('started');
    expect(await startUp([oldKey])).to.contain(`encrypted with master key ${newKey.id}`);
  });

  it('is recorded in the audit log, and does nothing the second time', async () => {
    const both = await start([newKey, oldKey]);
    await addSlots(running[0] ?? expect.fail('no hub'), 1);
    await both.client.reencryptSecrets({});
    expect((await both.client.reencryptSecrets({})).resealed).to.equal(0);
    const entries = await query(
      databaseUrl,
      `select actor, subject, before, after from audit_entry where action = 'masterkey.rotate' order by id`,
    );
    const by = { actor: ACTOR.name, subject: newKey.id };
    expect(entries).to.deep.equal([
      {
        ...by,
        before: { masterKeys: [newKey.id, oldKey.id] },
        after: { masterKeys: [newKey.id], resealed: 1 },
      },
      { ...by, before: { masterKeys: [newKey.id] }, after: { masterKeys: [newKey.id], resealed: 0 } },
    ]);
  });

  it('works while slots are opened, added and rotated', async () => {
    const [both, beside] = [await start([newKey, oldKey]), await start([newKey, oldKey])];
    const slots = await addSlots(running[0] ?? expect.fail('no hub'), 60);
    let done = false;
    const opening = (async () => {
      let opened = 0;
      for (; !done || opened === 0; opened++) {
        const slot = slots[opened % slots.length] ?? expect.fail('no slot');
        expect((await credentialsOf(beside, slot.id))['clerk']).to.be.oneOf(['Alice', 'Robert']);
      }
    })();
    const rotating = Promise.all(
      slots
        .slice(0, 20)
        .map(({ name }) => beside.client.rotateSlotCredentials({ slot: name, credentials: NEW_CREDENTIALS })),
    );
    await Promise.all([
      both.client.reencryptSecrets({}),
      beside.client.reencryptSecrets({}),
      addSlot(beside),
    ]);
    await rotating;
    done = true;
    await opening;
    const after = await start([newKey]);
    for (const [index, { id }] of slots.entries()) {
      expect(await credentialsOf(after, id)).to.deep.equal(index < 20 ? NEW_CREDENTIALS : CREDENTIALS);
    }
    expect(await startUp([newKey])).to.equal('started');
  });

  it('never overwrites credentials rotated meanwhile', async () => {
    const both = await start([newKey, oldKey]);
    const [slot = expect.fail('no slot')] = await addSlots(running[0] ?? expect.fail('no hub'), 1);
    const rotated = both.sealer.seal(Buffer.from(JSON.stringify(NEW_CREDENTIALS)), `slot:${slot.id}`);
    let resealing: Promise<unknown> | undefined;
    await inTransaction(both.db.pool, async (client) => {
      await client.query('update slot set sealed_credentials = $2 where id = $1', [slot.id, rotated]);
      resealing = both.client.reencryptSecrets({});
      await until(async () => {
        const waiting = await query(
          databaseUrl,
          `select from pg_stat_activity
           where datname = current_database() and wait_event_type = 'Lock' and query like 'update slot%'`,
        );
        return waiting.length === 1;
      }, 're-sealing waits for the rotation');
    });
    await resealing;
    expect(await credentialsOf(await start([newKey]), slot.id)).to.deep.equal(NEW_CREDENTIALS);
  });

  it('keeps a required key recorded, and loses nothing, if the ring lacks it', async () => {
    const [slot = expect.fail('no slot')] = await addSlots(running[0] ?? expect.fail('no hub'), 1);
    const stranger = await start([newKey]);
    const error = await stranger.client.reencryptSecrets({}).catch((thrown: Error) => thrown);
    expect(error).to.be.an('error');
    const noted = await query<{ id: string }>(databaseUrl, 'select key_id as id from master_key_use');
    expect(noted.map(({ id }) => id)).to.have.members([oldKey.id, newKey.id]);
    expect(await credentialsOf(await start([oldKey]), slot.id)).to.deep.equal(CREDENTIALS);
  });

  /** A hub with these keys on the database of the test, as far as payments go; the first one makes the database. */
  async function start(keys: MasterKey[]): Promise<PaymentAdmin> {
    const beside = running.length > 0 && { databaseUrl };
    const hub = await startPaymentAdmin({ driverOf, keys, otherSecrets: [SIGNING_KEYS], ...beside });
    running.push(hub);
    if (!beside) await claimDatabase(hub.db.pool, keys, systemClock);
    return hub;
  }

  /** What a hub with these keys says when it starts. */
  function startUp(keys: MasterKey[]): Promise<string> {
    const [{ db } = expect.fail('no hub')] = running;
    return claimDatabase(db.pool, keys, systemClock).then(
      () => 'started',
      (error: Error) => error.message,
    );
  }
});

async function makeSigningKey({ db, sealer }: PaymentAdmin): Promise<string> {
  const apps = createApps({ db, sealer, clock: systemClock });
  const { signingKeys } = await apps.create(
    { slug: 'photo-lab', name: '', terms: FIRST_DEFAULT_TERMS },
    ACTOR,
  );
  return signingKeys[0]?.kid ?? expect.fail('no key');
}

async function addSlots(hub: PaymentAdmin, count: number) {
  const slots = [];
  for (let index = 0; index < count; index++) slots.push(await addSlot(hub));
  return slots;
}

async function credentialsOf(hub: PaymentAdmin, slotId: string) {
  return (await hub.slotAccess.forSlot(slotId, () => {})).access.credentials.reveal();
}

/** The slot's token: the one that is stored, else `token`. */
async function cacheToken(hub: PaymentAdmin, slotId: string, token: string): Promise<string> {
  const { access } = await hub.slotAccess.forSlot(slotId, () => {});
  return access.tokens.get(async () => ({ token, expiresInSeconds: 3_600 }));
}
