// The initial data of a fuzz round: an app, licenses and sessions in every state, and the words that identify
// them.
import { createClient } from '@connectrpc/connect';
import { Role } from '../../gen/hub/access/v1/access_pb.ts';
import { TokenService } from '../../gen/hub/access/v1/token_service_pb.ts';
import { LicenseAdminService } from '../../gen/hub/license/v1/license_admin_service_pb.ts';
import { OfferService } from '../../gen/hub/order/v1/offer_service_pb.ts';
import { PaymentAdminService } from '../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { type ChargeSession, SlotEnvironment } from '../../gen/hub/payment/v1/payment_pb.ts';
import { PaymentService } from '../../gen/hub/payment/v1/payment_service_pb.ts';
import { issueLicense, type TestLicense } from '../support/hub/license.ts';
import { type Claim, callBack, callbackFields, GATEWAYS, type GatewayName } from '../support/hub/payment.ts';
import { createOffer } from '../support/hub/sales.ts';
import { activate, deactivate } from '../support/network/rest.ts';
import { query } from '../support/postgres/databases.ts';
import type { Fixture } from './fixture.ts';
import type { Words } from './inputs/message-json.ts';

export type Round = {
  readonly words: Words;
  /** Fields of callbacks for the sessions, including `session_id`. */
  readonly claims: readonly Readonly<Record<string, string>>[];
  /** The keys of the licenses. */
  readonly licenseKeys: readonly string[];
  /** This license is not among the words, so it stays unchanged and must be valid at the end. */
  readonly spare: TestLicense;
};

const MACHINES = ['laptop-1', 'laptop-2', 'tower', 'größe-ü'];

export async function makeRound(fixture: Fixture): Promise<Round> {
  const licenses = await makeLicenses(fixture);
  const payments = await makePayments(fixture);
  const { licenseKeys, spare, ...licenseWords } = licenses;
  for (const key of [...licenseKeys, spare.licenseKey]) fixture.secrets.add(key);
  const { sessions, claims, ...paymentWords } = payments;
  const offers = createClient(OfferService, fixture.transport);
  const [app = '', slots = []] = [licenseWords.app[0], paymentWords.slot];
  for (const [index, pageSlot] of slots.entries()) {
    await createOffer({ offers, app }, `pro-${index}`, { pageSlot });
  }
  const tokens = await makeTokens(fixture);
  const canary = fixture.secrets.make();
  const words: Words = {
    ...licenseWords,
    ...paymentWords,
    licenseKey: licenseKeys,
    'credentials.value': [canary],
    credentials: GATEWAYS.map((gateway) => JSON.stringify(fixture.simulator.credentials[gateway])),
    fields: claims.map(({ session_id: _, ...fields }) => JSON.stringify(fields)),
    tokenId: tokens,
    apps: licenseWords.app,
    slots: paymentWords.slot,
    offer: slots.flatMap((_, index) => [`pro-${index}`, `${app}/pro-${index}`]),
    email: ['ada@example.com'],
    certificateSubject: ['CN=shop,O=Example'],
    head: [''],
    subject: licenseWords.licenseId,
    actor: ['local admin', 'gateway'],
    action: ['license.revoke', 'slot.add'],
    sessionId: sessions.map(({ sessionId }) => sessionId),
    session_id: sessions.map(({ sessionId }) => sessionId),
    tran_id: sessions.map(({ merchantTransactionId }) => merchantTransactionId),
    paymentID: sessions.map(({ providerPaymentId }) => providerPaymentId),
    paymentId: sessions.map(({ providerPaymentId }) => providerPaymentId),
    status: ['VALID', 'FAILED', 'CANCELLED', 'success', 'failure', 'cancel', 'EXPIRED'],
    'fields.key': ['status', 'tran_id', 'val_id', 'paymentID', 'paymentId', 'amount', 'odd'],
    gateway: [...GATEWAYS],
    method: ['POST', 'GET'],
    currency: ['BDT', 'USD', 'JPY', 'KWD'],
    amount: ['100.00', '0', '-1', '1e9', '100.001'],
    baseUrl: [fixture.simulator.url, `${fixture.simulator.url}/gateway_one`, 'https://example.com', ''],
    service: ['', 'hub.license.v1.LicenseService', 'grpc.health.v1.Health'],
    fileByFilename: ['hub/license/v1/license.proto'],
    fileContainingSymbol: ['hub.license.v1.License', 'hub.license.v1.LicenseService.Activate'],
    reason: ['refunded'],
    pageToken: ['', ...sessions.map(({ sessionId }) => sessionId), ...licenseWords.licenseId],
  };
  return { words, claims, licenseKeys, spare };
}

/** Creates tokens that requests may revoke, since nothing else uses them. */
async function makeTokens({ transport, secrets }: Fixture): Promise<string[]> {
  const admin = createClient(TokenService, transport);
  const made = await Promise.all([Role.VIEWER, Role.SERVICE].map((role) => admin.createToken({ role })));
  return made.map(({ serviceToken, token }) => {
    secrets.add(token);
    return serviceToken?.tokenId ?? '';
  });
}

async function makeLicenses({ transport, hub: { gatewayUrl }, databaseUrl }: Fixture) {
  const admin = createClient(LicenseAdminService, transport);
  const open = await issueLicense(admin, { seatLimit: 3, customer: 'Ada', leaseDays: 30 });
  const { app } = open;
  await admin.setLimitProfile({ app, name: 'free', limits: { projects: 1n } });
  await admin.setLimitProfile({ app, name: 'pro', limits: { projects: -1n } });
  const unlimited = await issueLicense(admin, {
    app,
    seatLimit: -1,
    limitProfile: 'pro',
    limits: { exports: 5n },
  });
  const full = await issueLicense(admin, { app, seatLimit: 1 });
  const revoked = await issueLicense(admin, { app });
  const expired = await issueLicense(admin, { app });
  for (const machine of MACHINES.slice(0, 2)) await activate(gatewayUrl, open.licenseKey, machine);
  await deactivate(gatewayUrl, open.licenseKey, 'laptop-2');
  await activate(gatewayUrl, full.licenseKey, 'tower');
  await activate(gatewayUrl, revoked.licenseKey, 'tower');
  await admin.revokeLicense({ licenseId: revoked.licenseId, reason: 'refunded' });
  await query(databaseUrl, `update license set expires_at = created_at where key_hint = $1`, [
    expired.licenseKey.slice(-5),
  ]);
  await admin.rotateSigningKey({ app });
  const { app: { signingKeys = [] } = {} } = await admin.getApp({ app });
  const all = [open, unlimited, full, revoked, expired];
  const seats = await Promise.all(
    [open, full].map(({ licenseId }) => admin.listSeats({ licenseId, includeReleased: true })),
  );
  return {
    licenseKeys: all.map(({ licenseKey }) => licenseKey),
    spare: await issueLicense(admin, { seatLimit: -1 }),
    licenseId: all.map(({ licenseId }) => licenseId),
    keyHint: all.map(({ licenseKey }) => licenseKey.slice(-5)),
    app: [app],
    slug: [app],
    kid: signingKeys.map(({ kid }) => kid),
    seatId: seats.flatMap((page) => page.seats.map(({ seatId }) => seatId)),
    machineFingerprint: MACHINES,
    fp: MACHINES,
    machineLabel: ['Ada’s laptop', ''],
    appVersion: ['2.14.0', '1'],
    limitProfile: ['free', 'pro'],
    customer: ['Ada'],
    'limits.key': ['projects', 'exports', 'a.b-c_d'],
  };
}

const SESSIONS: readonly (Claim | 'open' | 'authorized')[] = [
  'open',
  'paid',
  'failed',
  'cancelled',
  'authorized',
];

async function makePayments(fixture: Fixture) {
  const { transport, simulator } = fixture;
  const admin = createClient(PaymentAdminService, transport);
  const charges = createClient(PaymentService, transport);
  const suffix = `${performance.now()}`.replace(/\D/g, '');
  const made: ChargeSession[] = [];
  const claims: Record<string, string>[] = [];
  const slots: string[] = [];
  for (const gateway of GATEWAYS) {
    const slot = `${gateway.replace('_', '-')}-${suffix}`;
    slots.push(slot);
    const credentials = simulator.credentials[gateway];
    const baseUrl = `${simulator.url}/${gateway}`;
    await admin.addSlot({ name: slot, gateway, environment: SlotEnvironment.SANDBOX, baseUrl, credentials });
    for (const [index, end] of SESSIONS.entries()) {
      const { session } = await charges.createChargeSession({
        slot,
        amount: { minorUnits: BigInt(10_000 + index), currency: 'BDT' },
        orderReference: 'ORD-1',
        idempotencyKey: `${slot}-${index}`,
        ...(index % 2 === 0 && { returnUrl: 'http://localhost:3000/paid?cart=7' }),
      });
      if (session === undefined) throw new Error('no session was created');
      made.push(session);
      const proof = await bring(fixture, gateway, session, end);
      for (const claim of ['paid', 'failed', 'cancelled'] as const)
        claims.push(callbackFields(session, claim, proof));
    }
  }
  const { rule } = await admin.addFeeRule({ rule: { name: 'card', basisPoints: 250, slot: slots[0] ?? '' } });
  const { callbacks } = await admin.listCallbacks({ pageSize: 20 });
  return {
    sessions: made,
    claims,
    slot: slots,
    name: ['free', 'card', `new-${suffix}`],
    feeRuleId: rule === undefined ? [] : [rule.feeRuleId],
    callbackId: callbacks.map(({ callbackId }) => callbackId),
    orderReference: ['ORD-1'],
    idempotencyKey: slots.map((slot) => `${slot}-0`),
    'credentials.key': GATEWAYS.flatMap((gateway) => Object.keys(simulator.credentials[gateway])),
    'options.key': ['paymentIdField', 'riskyPayments'],
    paymentIdField: ['paymentId', 'paymentID'],
    riskyPayments: ['settle', 'hold'],
    'metadata.key': ['order', 'note'],
  };
}

/** Brings a session to the given state, and returns the proof of its payment. */
async function bring(
  { simulator, hub }: Fixture,
  gateway: GatewayName,
  session: ChargeSession,
  end: (typeof SESSIONS)[number],
): Promise<string> {
  const ref = session.providerPaymentId;
  if (end === 'authorized') {
    if (gateway === 'gateway_two') simulator.authorizeAndLeave(ref);
    else {
      simulator.faults.add({ kind: 'lost', operation: 'callback', ref });
      simulator.pay(ref);
    }
  } else if (end === 'paid') simulator.pay(ref);
  else if (end !== 'open') await callBack(hub.gatewayUrl, gateway, callbackFields(session, end));
  await simulator.idle();
  return simulator.payments().find((payment) => payment.ref === ref)?.proof ?? '';
}
