// Generates the rows of each growing table in the form that the hub writes.
import { hash } from 'node:crypto';
import type { ChainedEntry } from '../../../core/audit/chain.ts';
import { formatId } from '../../../core/ids.ts';
import { licenseKeyHint } from '../../../core/license/keys/license-key.ts';
import { feeAmount } from '../../../core/payment/fees/amount.ts';
import { formatMoney } from '../../../core/payment/money.ts';
import type { Field } from './copy-rows.ts';
import {
  APP_VERSION,
  customerAt,
  customersOf,
  digest,
  FLEET,
  fingerprintAt,
  issuedEventAt,
  keyAt,
  labelAt,
  licenseAt,
  type MadeSession,
  type Population,
  QUEUED_ENDPOINT,
  SERVED_ENDPOINT,
  SITE,
  sessionAt,
  shopTokenOf,
  siteMachineAt,
  storedKey,
  uuidAt,
} from './population.ts';

/** Records that the generated rows refer to and that the hub created earlier. Ids are bare UUIDs. */
export type ReferencedRows = {
  readonly appId: string;
  readonly limitProfileId: string;
  readonly slotIds: Readonly<Record<MadeSession['gateway'], string>>;
  /** These rules apply to every payment. */
  readonly feeRules: readonly FeeRule[];
};

export type FeeRule = {
  readonly id: string;
  readonly name: string;
  readonly version: number;
  readonly basisPoints: number;
  readonly fixedMinor: bigint;
};

export type MadeTable = {
  readonly table: string;
  readonly columns: string;
  readonly rows: () => Iterable<readonly Field[]>;
};

export const CURRENCY = 'BDT';
const SEATS = 10;
/** Validity of a license that ends. */
const LICENSE_MS = 30 * 24 * 60 * 60 * 1000;
/** From a payment to the next check for refunds: longer than the hub runs. */
const REFUND_CHECK_MS = 400 * 24 * 60 * 60 * 1000;
/** In this many sessions, each gateway has one duplicate payment, which is refunded. */
const SESSIONS_PER_DUPLICATE = 10;
/** In this many sessions, each gateway has one that is refunded in part. */
const SESSIONS_PER_REFUND = 10;

export function tablesOf(population: Population, referencedRows: ReferencedRows): MadeTable[] {
  const { licenses, sessions } = population;
  const { appId, limitProfileId, slotIds, feeRules } = referencedRows;
  const ofSessions = (rows: (session: MadeSession, index: number) => readonly (readonly Field[])[]) => () =>
    madeMany(sessions, (index) => rows(sessionAt(population, index), index));
  const paid = (rows: (session: MadeSession, index: number) => readonly (readonly Field[])[]) =>
    ofSessions((session, index) => (session.status === 'success' ? rows(session, index) : []));

  return [
    {
      table: 'customer',
      columns: 'id, name, email, external_ref, created_at',
      rows: function* () {
        for (const { id, name, email, externalRef, createdAt } of customersOf(population)) {
          yield [id, name, email, externalRef, new Date(createdAt)];
        }
      },
    },
    {
      table: 'license',
      columns: `id, app_id, key_hash, key_hint, customer_id, seat_limit, seats_used, limit_profile_id, expires_at,
        metadata, terms_version, created_at`,
      rows: () =>
        made(licenses + 1, (index) => {
          const { id, createdAt } = licenseAt(population, index);
          const [seats, taken] = index < licenses ? [SEATS, 1] : [SITE.seats, SITE.taken];
          const { hash: keyHash, normalized } = storedKey(keyAt(index));
          const profile = index % 10 === 0 ? limitProfileId : null;
          // Half of them end, most of these in the past.
          const expires = index % 2 === 0 ? new Date(createdAt + LICENSE_MS) : null;
          const metadata = index % 4 === 0 ? { order: `ORD-${index}`, plan: 'pro' } : {};
          return [
            id,
            appId,
            keyHash,
            licenseKeyHint(normalized),
            customerAt(population, index).id,
            seats,
            taken,
            profile,
            expires,
            metadata,
            index === FLEET.license ? FLEET.changes + 1 : 1,
            new Date(createdAt),
          ];
        }),
    },
    {
      table: 'license_activity',
      columns: 'license_id, last_active_on',
      rows: () =>
        made(licenses + 1, (index) => {
          const { id, createdAt } = licenseAt(population, index);
          return [id, new Date(createdAt).toISOString().slice(0, 10)];
        }),
    },
    {
      table: 'idempotent_request',
      columns: 'scope, key, request_hash, result_ids, customer_id, created_at',
      rows: () =>
        made(licenses, (index) => {
          const { id, createdAt } = licenseAt(population, index);
          const key = digest('request', index);
          const customerId = customerAt(population, index).id;
          const requestHash = hash('sha256', key, 'buffer');
          return [`IssueLicenses:${appId}`, key, requestHash, `{${id}}`, customerId, new Date(createdAt)];
        }),
    },
    {
      table: 'seat',
      columns: 'id, license_id, machine_fingerprint, machine_label, app_version, activated_at, last_seen_at',
      rows: () =>
        made(licenses + SITE.taken, (index) => {
          const isOfSite = index >= licenses;
          const { id, createdAt } = licenseAt(population, Math.min(index, licenses));
          const machine = isOfSite ? siteMachineAt(index - licenses) : fingerprintAt(index);
          const activated = new Date(createdAt);
          const seatId = uuidAt(createdAt, digest('seat', index));
          return [seatId, id, machine, labelAt(index), APP_VERSION, activated, activated];
        }),
    },
    {
      table: 'charge_session',
      columns: `id, slot_id, status, status_verified, status_reason, status_changed_at, amount_minor, currency,
        order_reference, customer, metadata, merchant_transaction_id, provider_payment_id, checkout_url,
        idempotency_key, request_hash, gateway_transaction_id, created_at, checks, refund_check_at,
        has_purchase`,
      rows: ofSessions((session, index) => {
        const { id, gateway, status, amountMinor, createdAt, settledAt, merchantTransactionId } = session;
        const { providerPaymentId, proof } = session;
        const checkout = `https://pay.example/${gateway}/${providerPaymentId}`;
        const pending = status === 'pending';
        const changedAt = new Date(pending ? createdAt : settledAt);
        const key = `order-${index}`;
        const requestHash = hash('sha256', key, 'buffer');
        // biome-ignore format: one row, in the order of the columns
        return [[id, slotIds[gateway], status, !pending, reasonOf(session), changedAt, amountMinor, CURRENCY,
          `ORD-${index}`, { name: `customer ${index}`, email: `customer-${index}@example.com` }, { cart: String(index) },
          merchantTransactionId, providerPaymentId, checkout, key, requestHash, status === 'success' ? proof : null,
          new Date(createdAt), 0, status === 'success' ? new Date(settledAt + REFUND_CHECK_MS) : null,
          isOrder(session)]];
      }),
    },
    {
      table: 'callback',
      columns: `id, gateway, claimed_session_id, fields, received_at, session_id, state, reason, attempts, tried_since,
        finished_at`,
      rows: ofSessions((session, index) => {
        if (session.status === 'pending') return [];
        const { id, sessionId, gateway, settledAt } = session;
        const at = new Date(settledAt);
        const fields = fieldsOf(session);
        // biome-ignore format: one row, in the order of the columns
        return [[callbackId(session, index), gateway, sessionId, fields, at, id, 'settled', reasonOf(session), 1, null, at]];
      }),
    },
    {
      table: 'callback_count',
      columns: 'session_id, kept, ignored, mismatch, asked_for_at',
      rows: ofSessions(({ id, status }) => (status === 'pending' ? [] : [[id, 1, 0, 0, null]])),
    },
    {
      table: 'duplicate_payment',
      columns: `id, session_id, slot_id, gateway, gateway_transaction_id, bank_transaction_id, provider_payment_id,
        amount_minor, currency, found_at, resolved_at, resolution`,
      rows: paid(({ id, gateway, providerPaymentId, amountMinor, settledAt }, index) => {
        if (index % SESSIONS_PER_DUPLICATE > 1) return [];
        const entropy = digest('duplicate', index);
        const proof = entropy.slice(44, 64).toUpperCase();
        const at = new Date(settledAt);
        const bank = gateway === 'gateway_one' ? `B${proof}` : null;
        // biome-ignore format: one row, in the order of the columns
        return [[uuidAt(settledAt, entropy), id, slotIds[gateway], gateway, proof, bank, providerPaymentId, amountMinor,
          CURRENCY, at, at, 'refunded']];
      }),
    },
    {
      table: 'refund',
      columns: `id, session_id, slot_id, gateway, gateway_transaction_id, kind, origin, amount_minor, currency, reason,
        state, state_reason, gateway_refund_id, created_at, finished_at, requested_at, requests`,
      rows: paid(({ id, gateway, proof, settledAt }, index) => {
        if (index % SESSIONS_PER_REFUND > 1) return [];
        const entropy = digest('refund', index);
        const at = new Date(settledAt);
        // biome-ignore format: one row, in the order of the columns
        return [[uuidAt(settledAt, entropy), id, slotIds[gateway], gateway, proof, 'refund', 'hub', 1, CURRENCY, 'returned',
          'succeeded', 'refunded', `RF${entropy.slice(44, 64).toUpperCase()}`, at, at, at, 1]];
      }),
    },
    {
      table: 'verification',
      columns: 'id, session_id, callback_id, operation, outcome, detail, asked_at, duration_ms',
      rows: ofSessions((session, index) => {
        if (session.status === 'pending') return [];
        const { id, gateway, settledAt } = session;
        const operation = gateway === 'gateway_one' ? 'validate' : 'execute';
        const verificationId = uuidAt(settledAt, digest('verification', index));
        const callback = callbackId(session, index);
        // biome-ignore format: one row, in the order of the columns
        return [[verificationId, id, callback, operation, session.status, reasonOf(session), new Date(settledAt), 180]];
      }),
    },
    {
      table: 'payment_proof',
      columns: 'gateway, kind, value, session_id',
      rows: paid(({ id, gateway, proof }) => {
        const payment = [gateway, 'payment', proof, id];
        return gateway === 'gateway_one' ? [['gateway_one', 'bank', bankId(proof), id], payment] : [payment];
      }),
    },
    {
      table: 'usage_log',
      columns: `id, kind, session_id, slot_id, gateway, gateway_transaction_id, amount_minor, currency, fee_total_minor,
        order_reference, settled_at`,
      rows: paid(({ id, gateway, proof, amountMinor, settledAt }, index) => {
        const fees = feeRules.reduce((sum, rule) => sum + feeOf(rule, amountMinor), 0n);
        const at = new Date(settledAt);
        return [
          [
            id,
            'payment',
            id,
            slotIds[gateway],
            gateway,
            proof,
            amountMinor,
            CURRENCY,
            fees,
            `ORD-${index}`,
            at,
          ],
        ];
      }),
    },
    {
      table: 'fee_line',
      columns: 'usage_log_id, fee_rule_id, rule, rule_version, amount_minor',
      rows: paid(({ id, amountMinor }) =>
        feeRules.map((rule) => [id, rule.id, rule.name, rule.version, feeOf(rule, amountMinor)]),
      ),
    },
    ...orderTables(population, referencedRows),
    ...eventTables(population, appId),
    {
      table: 'audit_entry',
      columns:
        'id, at, actor, actor_kind, actor_token_id, action, subject, before, after, detail, request_id',
      rows: function* () {
        for (const entry of auditEntries(population)) {
          const { id, at, actor, actorKind = null, actorTokenId = null, action, subject } = entry;
          const { before, after, detail, requestId } = entry;
          yield [id, at, actor, actorKind, actorTokenId, action, subject, before, after, detail, requestId];
        }
      },
    },
  ];
}

/** An order of one new license, with a sent mail, for each paid session of one gateway. */
function orderTables(population: Population, { appId, slotIds }: ReferencedRows): MadeTable[] {
  const at = new Date(population.from);
  const offer = uuidAt(population.from, digest('offer', 0));
  const offerVersion = uuidAt(population.from, digest('offer-version', 0));
  const licensesPerSession = Math.floor(population.licenses / population.sessions);
  const ofOrders = (row: (order: MadeOrder) => readonly Field[]) => () =>
    madeMany(population.sessions, (index) => {
      const session = sessionAt(population, index);
      if (!isOrder(session)) return [];
      const license = index * licensesPerSession;
      return [
        row({
          id: uuidAt(session.settledAt, digest('order', index)),
          session,
          licenseId: licenseAt(population, license).id,
          customerId: customerAt(population, license).id,
          settledAt: new Date(session.settledAt),
        }),
      ];
    });
  return [
    {
      table: 'offer',
      columns: 'id, app_id, slug, version, created_at',
      rows: () => [[offer, appId, 'made', 1, at]],
    },
    {
      table: 'offer_version',
      columns: 'id, offer_id, version, name, prices, granted, created_at, on_refund',
      rows: () => [
        [
          offerVersion,
          offer,
          1,
          'Made',
          JSON.stringify([{ minorUnits: 1_000, currency: CURRENCY }]),
          { license: { seatLimit: SEATS } },
          at,
          'suspend',
        ],
      ],
    },
    {
      table: 'purchase',
      columns: 'session_id, offer_version_id, quantity, customer_id',
      rows: ofOrders(({ session, customerId }) => [session.id, offerVersion, 1, customerId]),
    },
    {
      table: 'sales_order',
      columns: 'id, session_id, app_id, slot_id, customer_id, state, created_at, fulfilled_at, offer_id',
      rows: ofOrders(({ id, session, customerId, settledAt }) => [
        id,
        session.id,
        appId,
        slotIds[session.gateway],
        customerId,
        'fulfilled',
        settledAt,
        settledAt,
        offer,
      ]),
    },
    {
      table: 'order_license',
      columns: 'order_id, license_id, issued',
      rows: ofOrders(({ id, licenseId }) => [id, licenseId, true]),
    },
    {
      table: 'mail',
      columns: 'id, order_id, app_id, kind, language, state, attempts, message_id, created_at, sent_at',
      rows: ofOrders(({ id, settledAt }) => [
        id,
        id,
        appId,
        'license',
        '',
        'sent',
        1,
        `<${id}@shop.example>`,
        settledAt,
        settledAt,
      ]),
    },
  ];
}

type MadeOrder = {
  readonly id: string;
  readonly session: MadeSession;
  readonly licenseId: string;
  readonly customerId: string;
  readonly settledAt: Date;
};

function isOrder({ status, gateway }: MadeSession): boolean {
  return status === 'success' && gateway === 'gateway_two';
}

/** An event for each license, each with deliveries to two endpoints: to one all are pending, to the other a few. */
function eventTables(population: Population, appId: string): MadeTable[] {
  const { licenses, from } = population;
  const at = new Date(from);
  const licenseIdAt = (index: number) => licenseAt(population, index).id;
  const data = (index: number) => ({ licenseId: formatId('lic', licenseIdAt(index)), app: 'scale' });
  return [
    {
      table: 'event_endpoint',
      columns: 'id, url, event_types, created_at, disabled_at, disabled_reason',
      rows: () => [
        [QUEUED_ENDPOINT, 'https://queued.example', '{license.*}', at, at, 'made'],
        [SERVED_ENDPOINT, 'https://served.example', '{license.*}', at, at, 'made'],
      ],
    },
    { table: 'event_counter', columns: 'name, last_number', rows: () => [['events', licenses]] },
    {
      table: 'event',
      columns: 'id, number, type, object_id, app_id, slot_id, at',
      rows: () =>
        made(licenses, (index) => {
          const { createdAt } = licenseAt(population, index);
          const id = issuedEventAt(population, index);
          return [id, index + 1, 'license.issued', licenseIdAt(index), appId, null, new Date(createdAt)];
        }),
    },
    {
      table: 'event_data',
      columns: 'event_id, data, customer_id',
      rows: () =>
        made(licenses, (index) => [
          issuedEventAt(population, index),
          data(index),
          customerAt(population, index).id,
        ]),
    },
    {
      table: 'event_delivery',
      columns: 'event_id, endpoint_id, state, attempts, next_attempt_at, response_status, response_body',
      rows: () =>
        madeMany(licenses, (index) => {
          const id = issuedEventAt(population, index);
          const state = index % 1_000 === 0 ? 'failed' : 'delivered';
          return [
            [id, QUEUED_ENDPOINT, 'pending', 0, at, null, null],
            [id, SERVED_ENDPOINT, state, 1, null, 200, 'ok'],
          ];
        }),
    },
  ];
}

/**
 * The audit entries in chain order: one for the creation and one for the settlement of each session, and
 * between them the changes of one license.
 */
export function* auditEntries(population: Population): Generator<ChainedEntry> {
  for (let index = 0; index < population.sessions; index++) {
    const session = sessionAt(population, index);
    const { sessionId, status, gateway, createdAt, settledAt } = session;
    const amount = formatMoney({ minor: BigInt(session.amountMinor), currency: CURRENCY });
    yield {
      id: uuidAt(createdAt, digest('created', index)),
      at: new Date(createdAt).toISOString(),
      actor: 'shop',
      actorKind: 'token',
      actorTokenId: shopTokenOf(population),
      action: 'charge_session.create',
      subject: sessionId,
      before: null,
      after: { status: 'pending', slot: gateway, amount, orderReference: `ORD-${index}` },
      detail: {},
      requestId: digest('request', index).slice(0, 32),
    };
    if (index % 2 === 0 && index / 2 < FLEET.changes) yield licenseChange(population, index / 2, createdAt);
    if (status === 'pending') continue;
    yield {
      id: uuidAt(settledAt, digest('settled', index)),
      at: new Date(settledAt).toISOString(),
      actor: 'settlement',
      actorKind: 'hub',
      action: 'charge_session.settle',
      subject: sessionId,
      before: { status: 'pending', verified: false },
      after: { status, verified: true, reason: reasonOf(session) },
      detail: { amount, callback: formatId('cb', callbackId(session, index)) },
      requestId: '',
    };
  }
}

function licenseChange(population: Population, index: number, at: number): ChainedEntry {
  return {
    id: uuidAt(at, digest('change', index)),
    at: new Date(at).toISOString(),
    actor: 'shop',
    actorKind: 'token',
    actorTokenId: shopTokenOf(population),
    action: 'license.update',
    subject: formatId('lic', licenseAt(population, FLEET.license).id),
    before: { seatLimit: index, termsVersion: index + 1 },
    after: { seatLimit: index + 1, termsVersion: index + 2 },
    detail: {},
    requestId: digest('request', index).slice(0, 32),
  };
}

function* made<T>(count: number, one: (index: number) => T): Generator<T> {
  for (let index = 0; index < count; index++) yield one(index);
}

function* madeMany<T>(count: number, some: (index: number) => readonly T[]): Generator<T> {
  for (let index = 0; index < count; index++) yield* some(index);
}

function callbackId({ settledAt }: MadeSession, index: number): string {
  return uuidAt(settledAt, digest('callback', index));
}

function reasonOf({ status, gateway }: MadeSession): string {
  if (status === 'pending') return 'the customer has not paid yet';
  const answer = status === 'success' ? 'VALID' : status.toUpperCase();
  return `${gateway === 'gateway_one' ? 'validate' : 'execute'}: ${answer}`;
}

/** The fields of the provider's callback. gateway_one sends many. */
function fieldsOf({
  gateway,
  status,
  merchantTransactionId,
  providerPaymentId,
  proof,
  amountMinor,
}: MadeSession) {
  if (gateway === 'gateway_two') {
    return { paymentID: providerPaymentId, status: status === 'success' ? 'success' : 'failure' };
  }
  return {
    status: status === 'success' ? 'VALID' : status.toUpperCase(),
    tran_id: merchantTransactionId,
    val_id: proof,
    amount: (amountMinor / 100).toFixed(2),
    currency: CURRENCY,
    card_type: 'VISA-Dutch Bangla',
    card_no: '432149XXXXXX0667',
    bank_tran_id: bankId(proof),
    card_issuer: 'STANDARD CHARTERED BANK',
    card_brand: 'VISA',
    risk_level: '0',
    risk_title: 'Safe',
  };
}

/** As the provider of the benchmark forms it, so that new payments are spread over the index of the made ones. */
function bankId(proof: string): string {
  return `K${proof.slice('V'.length)}`;
}

function feeOf({ basisPoints, fixedMinor }: FeeRule, amountMinor: number): bigint {
  return feeAmount({ basisPoints, fixedMinor, minMinor: null, maxMinor: null }, BigInt(amountMinor));
}
