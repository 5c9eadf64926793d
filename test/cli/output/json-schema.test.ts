// The JSON of every command, against the shape that its manual promises, and the shapes against the contract.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createRegistry } from '@bufbuild/protobuf';
import { expect } from 'chai';
import { ERROR } from '../../../cli/errors/error-document.ts';
import { type Simulator, startSimulator } from '../../../cli/simulator/simulator.ts';
import type { Schema } from '../../../cli/views/schema.ts';
import { contractServices } from '../../core/access/contract-services.ts';
import { startHub, type TestHub } from '../../support/hub/hub.ts';
import { query } from '../../support/postgres/databases.ts';
import { until } from '../../support/until.ts';
import { expectPrinted, expectShape, SHAPES } from '../expect-schema.ts';
import { runHere } from '../run-here.ts';

/** Those that run a hub or work on its database are held to their shapes in tests of their own. */
const ELSEWHERE = [
  ...['demo', 'simulate', 'doctor', 'top', 'backup create', 'backup verify', 'backup restore'],
  ...['migration apply', 'migration list', 'session watch', 'event tail', 'event listen'],
  ...['add', 'list', 'use', 'show', 'check', 'remove'].map((verb) => `context ${verb}`),
  ...['create', 'list', 'show', 'update', 'archive', 'unarchive'].map((verb) => `offer ${verb}`),
  ...['list', 'show', 'retry'].map((verb) => `order ${verb}`),
  ...['list', 'show', 'resend', 'preview', 'test'].map((verb) => `mail ${verb}`),
  ...['list-templates', 'show-template', 'set-template', 'remove-template'].map((verb) => `mail ${verb}`),
];

describe('the JSON of hubctl', () => {
  let hub: TestHub;
  let simulator: Simulator;
  const held = new Set<string>();

  before(async () => {
    [hub, simulator] = await Promise.all([
      startHub({ settings: { eventAllowNetworks: ['127.0.0.0/8'] } }),
      startSimulator({ port: 0 }),
    ]);
  });
  after(async () => {
    await hub?.stop();
    await simulator?.close();
  });

  /** What the command prints, which has to be one document of its shape and nothing else. */
  const json = async (line: string, ...more: string[]) => {
    const words = [...line.split(' '), ...more];
    const command = words.slice(0, 2).join(' ');
    const { code, stdout, stderr } = await runHere([...words, '--output', 'json'], hub);
    expect({ code, stderr }, line).to.deep.equal({ code: 0, stderr: '' });
    const texts =
      SHAPES.get(command)?.inLines && !line.includes(' --out') ? stdout.trimEnd().split('\n') : [stdout];
    const documents = texts.map((text) => JSON.parse(text));
    for (const document of documents) expectPrinted(command, document);
    held.add(command);
    return documents[0];
  };

  it('matches the manual for licenses', async () => {
    await json('app create photo-lab', '--name', 'Photo Lab');
    const [, retired] = (await json('app rotate-key photo-lab')).signingKeys;
    await json(`app withdraw-key photo-lab ${retired.kid} --yes`);
    await json('app show photo-lab');
    await json('app list');
    await json('profile set photo-lab pro projects=unlimited exports=100');
    await json('profile list photo-lab');
    const { licenses } = await json(
      'key issue --app photo-lab --profile pro --expires 1y --lease-days 7',
      '--customer',
      'Ada',
    );
    const [{ licenseId }] = licenses;
    await json('key issue --app photo-lab --count 2');
    await json(`key issue --app photo-lab --out ${join(hub.dataDir, 'keys.csv')}`);
    await json('license list');
    await json(`license revoke ${licenseId} --reason test --yes`);
    await json(`license show ${licenseId}`);
    await json(`license reinstate ${licenseId}`);
    await json('app update photo-lab --grace-days 7');
    await json(`license update ${licenseId} --feature export`);
    await json('license update --app photo-lab --feature sync --yes');
    await json(`license renew ${licenseId} --by 1y`);
    await json('license renew --app photo-lab --expires-before 2999-01-01 --by 1m --yes');
    await json('license renew --app photo-lab --by 1m --dry-run');
    await json(`license suspend ${licenseId} --reason test --yes`);
    await json(`license resume ${licenseId}`);
    const { customerId } = await json(`license show ${licenseId}`);
    await json(`license transfer ${licenseId} --customer-id ${customerId}`);
    await json(`license key ${licenseId}`);
    await json(`license rekey ${licenseId} --yes`);
    await json('key list-secrets');
    await json('key rotate-secret --yes');
    const file = join(hub.dataDir, 'import.csv');
    await writeFile(file, 'licenseKey,customer\nOLD-KEY-0123456789,Ada\n');
    await json(`key import --app photo-lab ${file} --dry-run`);
    await json(`license list --out ${join(hub.dataDir, 'licenses.csv')}`);
    const demo = await json('app seed');
    const activated = await fetch(`${hub.gatewayUrl}/v1/activate`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        licenseKey: demo.licenseKey,
        machineFingerprint: 'f',
        machineLabel: 'Desk',
        appVersion: '1.0',
      }),
    });
    expect(activated.status).to.equal(200);
    const [seat] = await json(`seat list ${demo.licenseId}`);
    await json(`seat release ${seat.seatId}`);
    await json(`seat list ${demo.licenseId} --all`);
  });

  it('matches the manual for customers', async () => {
    const { customerId } = await json('customer create --name Grace --email grace@example.com');
    await json('customer list --search grace');
    await json(`customer show ${customerId}`);
    await json(`customer update ${customerId} --metadata plan=pro`);
    await json(`customer erase ${customerId} --yes`);
  });

  it('matches the manual for payments', async () => {
    const credentials = join(hub.dataDir, 'one.json');
    await writeFile(credentials, JSON.stringify(simulator.credentials.gateway_one), { mode: 0o600 });
    await json('gateway list');
    await json(
      `slot add main --gateway gateway_one --environment sandbox --base-url ${simulator.urls.gateway_one} --credentials-file ${credentials}`,
    );
    await json(`slot rotate main --credentials-file ${credentials}`);
    for (const verb of ['disable', 'list', 'enable', 'show', 'test'])
      await json(`slot ${verb}${verb === 'list' ? '' : ' main'}`);
    await json('fee add processing --percent 1.5');
    const { feeRuleId } = await json(
      'fee add other --slot main --currency BDT --percent 1 --fixed 1 --min-fee 1 --max-fee 9',
    );
    await json('fee list');
    await json('fee preview --slot main --amount 100.00 --currency BDT');
    const created = await json(
      'session create --slot main --amount 100.00 --currency BDT --order ORD-1 --metadata a=b',
      '--customer-name',
      'Ada',
    );
    await simulator.pay(created.providerPaymentId);
    const { sessionId } = created;
    await until(async () => (await json(`session show ${sessionId}`)).status === 'success', 'it is paid');
    await json('session list --status success');
    const [callback] = await json('callback list');
    await json(`callback replay ${callback.callbackId}`);
    await json(`callback show ${callback.callbackId}`);
    const { verification } = await json(`session recheck ${sessionId}`);
    expect(verification).to.include({ outcome: 'paid' });
    const history = await json(`session inspect ${sessionId}`);
    await json(`session list-verifications ${sessionId}`);
    await json(`session list-changes ${sessionId}`);
    expect(history.usageLog.fees).to.have.length(2);
    expect(history.statusChanges).not.to.have.length(0);
    const period = '--from 2020-01-01 --to 2099-01-01';
    const [backtest] = await json(`fee backtest processing --percent 2 ${period}`);
    expect(backtest.payments).to.equal(1);
    const [fit] = await json(`fee backtest processing --fit --gateway gateway_one ${period}`);
    expect(fit).to.include({ payments: 1, exactPayments: 1, ambiguous: true });
    const [drift] = await json('fee audit');
    expect(drift).to.include({ payments: 1, differingPayments: 1 });
    await simulator.payAgain(created.providerPaymentId);
    await until(
      async () => (await json('session list-duplicates')).length === 1,
      'the duplicate payment is found',
    );
    const [{ duplicatePaymentId }] = await json('session list-duplicates --slot main');
    await json(`session resolve-duplicate ${duplicatePaymentId} --note refunded`);
    const { usageLogs, duplicatePayments } = await json(`session inspect ${sessionId}`);
    expect([usageLogs, duplicatePayments].map(({ length }) => length)).to.deep.equal([1, 1]);
    await json(`fee retire ${feeRuleId}`);
    await json('fee list --all');
    expect(await json('usage list')).to.have.length(1);
    const day = new Date().toISOString().slice(0, 10);
    const next = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10);
    expect(await json(`usage sum --from ${day} --to ${next}`)).to.have.length(1);
    const [{ gatewayTransactionId, amount }] = await json('usage list');
    const statement = join(hub.dataDir, 'statement.csv');
    await writeFile(statement, `id,amount,currency\n${gatewayTransactionId},${amount},BDT\n`);
    const columns = '--map id=id --map amount=amount --map currency=currency';
    const bounds = `--from ${day} --to ${next}`;
    const books = await json(`usage reconcile --statement ${statement} ${columns} ${bounds}`);
    expect(books).to.include({ agrees: true, matched: 1 });
    expect(await json('usage export')).to.include({ sessionId });
    await json(`usage export --out ${join(hub.dataDir, 'usage.csv')}`);
    const { refundId } = await json(`session refund ${sessionId} --amount 0.50 --reason returned --yes`);
    await query(
      hub.databaseUrl,
      `update refund set review_reason = 'a part of it' where reviewed_at is null`,
    );
    expect(await json('refund list --needs-review')).to.have.length(1);
    await json(`refund resolve ${refundId} --resolution kept`);
    expect(await json(`refund show ${refundId}`)).to.include({ resolution: 'kept', amount: '0.50' });
    await json('slot update main --hold-risky');
    const { sessionId: risky, providerPaymentId: ref } = await json(
      'session create --slot main --amount 1.00 --currency BDT',
    );
    for (const operation of ['gateway_one.validate', 'gateway_one.query'] as const)
      simulator.faults.add({ kind: 'risky', operation, ref, times: 100 });
    await simulator.pay(ref);
    await until(async () => (await json('session list --held')).length === 1, 'it is held');
    await json(`session release ${risky} --reason known --yes`);
  });

  it('matches the manual for events', async () => {
    const url = 'https://127.0.0.1:1/hook'; // nothing listens there
    const { endpointId } = await json(`endpoint add --url ${url} --event seat.* --description shop`);
    await json(`endpoint update ${endpointId} --event seat.* --event customer.*`);
    await json('customer create --name Alan');
    const eventId = async () => (await json('event list --type customer.created --max 1')).events[0]?.eventId;
    await until(async () => (await eventId()) !== undefined, 'the event is numbered');
    await json(`event show ${await eventId()}`);
    await json(`event replay ${await eventId()} --endpoint ${endpointId}`);
    await json('event list --out', join(hub.dataDir, 'events.csv'));
    const lastDelivery = async () => (await json(`endpoint show ${endpointId}`)).deliveries[0];
    // The replay set the attempts back to 0, and kept the problem of an attempt before it.
    await until(async () => (await lastDelivery())?.attempts === 1, 'the delivery has failed');
    expect(await lastDelivery()).to.include({ state: 'pending' });
    await json('endpoint list');
    await json(`endpoint rotate-secret ${endpointId}`);
    await json(`endpoint disable ${endpointId} --reason moved --yes`);
    await json(`endpoint enable ${endpointId}`);
    const { code, stdout } = await runHere(['endpoint', 'test', endpointId, '--output', 'json'], hub);
    expect(code).to.equal(1);
    expectPrinted('endpoint test', JSON.parse(stdout));
    held.add('endpoint test');
    await json(`endpoint remove ${endpointId} --yes`);
  });

  it('matches the manual for administration', async () => {
    const { tokenId } = await json('token create --role viewer --expires 90d');
    await json('token create --role service --certificate-subject CN=shop');
    await json(`token revoke ${tokenId} --yes`);
    await json('token list --all');
    await json('masterkey rotate');
    await json('audit list');
    await json('audit verify');
    await json('audit export');
    await json('audit export --out', join(hub.dataDir, 'audit.jsonl'));
    await query(hub.databaseUrl, `update audit_key set sealed_key = ''`);
    await json('audit begin-chain --yes --reason', 'the key is gone');
    await json('retention prune --before 2020-01 --dry-run');
  });

  it('matches the manual for errors, on standard error', async () => {
    const wrong = [
      'app show none',
      'app list --max 0',
      'app',
      'key issue --app none --lease-days 0',
      'license show app_x',
    ];
    for (const line of wrong) {
      const { stdout, stderr } = await runHere([...line.split(' '), '--output', 'json'], hub);
      const { error, ...more } = JSON.parse(stderr);
      expect({ stdout, more }, line).to.deep.equal({ stdout: '', more: {} });
      expectShape(error, ERROR, line);
    }
  });

  it('matches the manual for the console', async () => {
    expect(await json('console')).to.deep.equal({ console: `${hub.rpcUrl}/console/` });
  });

  it('was checked for every command', () => {
    expect([...held, ...ELSEWHERE]).to.have.members([...SHAPES.keys()]);
  });

  it('includes every field of its messages, or lists the omitted ones', async () => {
    const services = await contractServices();
    const registry = createRegistry(...services.flatMap(({ file }) => [file, ...file.dependencies]));
    const objects = new Set<Schema>();
    const visit = (schema: Schema): void => {
      if (schema.properties) objects.add(schema);
      const parts = [...Object.values(schema.properties ?? {}), schema.items, ...(schema.anyOf ?? [])];
      for (const part of parts) if (part !== undefined) visit(part);
    };
    for (const { schema } of SHAPES.values()) visit(schema);
    const made = [...objects].filter(({ message }) => message !== undefined);
    expect(made).not.to.have.length(0);
    for (const { title, message = '', properties = {}, without = [] } of made) {
      const fields = registry.getMessage(message)?.fields.map(({ jsonName }) => jsonName);
      expect(fields, `${title}: there is no ${message}`).to.be.an('array');
      const shown = fields?.map((name) => {
        const money = name.replace(/MinorUnits$/, '');
        return money in properties ? money : name;
      });
      expect([...Object.keys(properties), ...without], title).to.include.members(shown ?? []);
      expect(fields, `${title} leaves out what there is not`).to.include.members([...without]);
    }
  });
});
