// Looks up existing names and ids by kind, for completion and for suggestions.

import { ORDER_STATES } from '../../lib/presentation/enum-names.ts';
import { EVENT_TYPES } from '../../lib/presentation/event-types.ts';
import { soldText } from '../../lib/presentation/order-text.ts';
import type { CommandContext } from '../command-context.ts';
import type { Hub } from '../connect/connection.ts';
import { contextsFile, LOCAL, readContexts } from '../connect/stored-contexts.ts';
import { endpointView } from '../views/events/endpoint.ts';
import { appView } from '../views/licensing/app.ts';
import { type LicenseView, licenseView } from '../views/licensing/license.ts';
import { profileView } from '../views/licensing/profile.ts';
import { seatView } from '../views/licensing/seat.ts';
import { tokenView } from '../views/operations/token.ts';
import { mailView } from '../views/orders/mail.ts';
import { offerView } from '../views/orders/offer.ts';
import { orderView } from '../views/orders/order.ts';
import { callbackView } from '../views/payments/callback.ts';
import { chargeSessionView } from '../views/payments/charge-session.ts';
import { duplicatePaymentView } from '../views/payments/duplicate-payment.ts';
import { feeRuleView } from '../views/payments/fee-rule.ts';
import { moneyText } from '../views/payments/money.ts';
import { refundView } from '../views/payments/refund.ts';
import { slotView } from '../views/payments/slot.ts';

/** `about` describes the item to people. */
export type KnownName = { readonly value: string; readonly about: string };

/** The part of the command line before the cursor. */
export type TypedLine = {
  /** `license revoke` */
  readonly command: string;
  /** Values given for other kinds: `{ app: 'photo-lab' }` */
  readonly given: Readonly<Record<string, string>>;
};

/** The number of newest items to search. */
const NEWEST = 200;
/** The number of licenses whose seats are searched. */
const LICENSES_WITH_SEATS = 10;

/**
 * Names of a kind (the word in the angle brackets of an option or argument) that fit the command. Empty if
 * the kind is unknown or the hub does not answer within a second.
 */
export async function knownNames(
  kind: string,
  commandContext: Pick<CommandContext, 'hub'>,
  line: TypedLine,
): Promise<KnownName[]> {
  const source = Object.hasOwn(SOURCES, kind) ? SOURCES[kind] : undefined;
  if (source === undefined) return [];
  try {
    const names = await source(commandContext.hub, line);
    return names.map(([value, about]) => ({ value, about }));
  } catch {
    return [];
  }
}

type Source = (hub: Hub, line: TypedLine) => Promise<readonly (readonly [value: string, about: string])[]>;

const PAGE = { pageSize: NEWEST };
const CALL = { timeoutMs: 1_000 };

/** By the word in angle brackets. */
const SOURCES: Readonly<Record<string, Source>> = {
  app: async (hub) => {
    const { apps } = await hub.admin.listApps(PAGE, CALL);
    return apps.map(({ slug, name }) => [slug, name]);
  },
  profile: async (hub, { given: { app = '' } }) => {
    const { limitProfiles } = await hub.admin.listLimitProfiles({ app }, CALL);
    return limitProfiles.map(profileView).map(({ name, limits }) => [name, JSON.stringify(limits)]);
  },
  kid: async (hub, { given: { app = '' } }) => {
    const keys = appView((await hub.admin.getApp({ app }, CALL)).app).signingKeys;
    // An active one cannot be withdrawn.
    const retired = keys.filter(({ state }) => state === 'retired');
    return retired.map(({ kid, state, createdAt }) => [kid, `${state}, made ${createdAt}`]);
  },
  licenseId: async (hub, { command }) => {
    const wanted = { 'license revoke': ['active', 'expired'], 'license reinstate': ['revoked'] }[command];
    const fitting = (await licenses(hub)).filter(({ state }) => wanted?.includes(state) ?? true);
    return fitting.map((license) => [license.licenseId, aboutLicense(license)]);
  },
  seatId: async (hub) => {
    const used = (await licenses(hub)).filter(({ seatsUsed }) => seatsUsed > 0).slice(0, LICENSES_WITH_SEATS);
    const replies = await Promise.all(
      used.map(({ licenseId }) => hub.admin.listSeats({ licenseId, ...PAGE }, CALL)),
    );
    const seats = replies.flatMap((reply) => reply.seats.map(seatView));
    return seats.map((seat) => [seat.seatId, seat.machineLabel ?? seat.machineFingerprint]);
  },
  offer: async (hub, { command, given: { app } }) => {
    const wanted = { includeArchived: command.startsWith('offer '), app };
    const { offers } = await hub.offers.listOffers({ ...PAGE, ...wanted }, CALL);
    const archived = { 'offer archive': false, 'offer unarchive': true }[command];
    return offers
      .map(offerView)
      .filter(({ archivedAt }) => archived === undefined || archived === (archivedAt !== undefined))
      .map(({ app, slug, name, prices }) => [`${app}/${slug}`, [name, ...prices.map(moneyText)].join(', ')]);
  },
  mailId: async (hub, { command }) => {
    const mails = (await hub.mails.listMails(PAGE, CALL)).mails.map(mailView);
    return mails
      .filter(({ state }) => command !== 'mail resend' || state !== 'sent')
      .map(({ mailId, state, kind, app }) => [mailId, `${state}, ${kind} of ${app}`]);
  },
  order: async (hub, { command }) => {
    const wanted = command === 'order retry' ? { state: ORDER_STATES.blocked } : {};
    const { orders } = await hub.orders.listOrders({ ...PAGE, ...wanted }, CALL);
    return orders.map(orderView).map((order) => [order.orderId, `${order.state}, ${soldText(order)}`]);
  },
  gateway: async (hub) => {
    const { gateways } = await hub.paymentAdmin.listGateways({}, CALL);
    return gateways.map(({ gateway, credentials }) => [gateway, credentials.join(', ')]);
  },
  slot: async (hub, { command }) => {
    const slots = (await hub.paymentAdmin.listSlots({}, CALL)).slots.map(slotView);
    const disabled = { 'slot enable': true, 'slot disable': false, 'session create': false }[command];
    return slots
      .filter((slot) => disabled === undefined || slot.disabled === disabled)
      .map(({ name, gateway, environment }) => [name, `${gateway}, ${environment}`]);
  },
  sessionId: async (hub) => {
    const { sessions } = await hub.payments.listChargeSessions(PAGE, CALL);
    return sessions.map(chargeSessionView).map((session) => {
      const about = [session.status, moneyText(session), session.orderReference];
      return [session.sessionId, about.filter(Boolean).join(', ')];
    });
  },
  callbackId: async (hub) => {
    const callbacks = (await hub.paymentAdmin.listCallbacks(PAGE, CALL)).callbacks.map(callbackView);
    return callbacks.map((each) => [each.callbackId, `${each.state}, ${each.gateway}, ${each.receivedAt}`]);
  },
  duplicatePaymentId: async (hub) => {
    const { duplicatePayments } = await hub.paymentAdmin.listDuplicatePayments(PAGE, CALL);
    return duplicatePayments
      .map(duplicatePaymentView)
      .map((duplicate) => [duplicate.duplicatePaymentId, `${moneyText(duplicate)}, ${duplicate.sessionId}`]);
  },
  refundId: async (hub, { command }) => {
    const wanted = { needsReview: command === 'refund resolve' };
    const refunds = (await hub.refunds.listRefunds({ ...PAGE, ...wanted }, CALL)).refunds.map(refundView);
    return refunds.map((each) => [each.refundId, `${each.state}, ${moneyText(each)}, ${each.sessionId}`]);
  },
  feeRuleId: async (hub) => {
    const rules = (await hub.paymentAdmin.listFeeRules({}, CALL)).rules.map(feeRuleView);
    return rules.map((each) => [each.feeRuleId, `${each.name}, version ${each.version}, ${each.percent} %`]);
  },
  customerId: async (hub) => {
    const { customers } = await hub.customers.listCustomers(PAGE, CALL);
    return customers.map(({ customerId, name }) => [customerId, name || 'erased']);
  },
  endpointId: async (hub, { command }) => {
    const endpoints = (await hub.events.listEndpoints({}, CALL)).endpoints.map(endpointView);
    const disabled = { 'endpoint enable': true, 'endpoint disable': false, 'event replay': false }[command];
    return endpoints
      .filter(({ disabledAt }) => disabled === undefined || disabled === (disabledAt !== undefined))
      .map(({ endpointId, url }) => [endpointId, url]);
  },
  eventId: async (hub) => {
    const { events } = await hub.events.listEvents(PAGE, CALL);
    return events.map(({ eventId, type, object }) => [eventId, `${type}, ${object}`]);
  },
  pattern: async () => {
    const kinds = new Set(Object.keys(EVENT_TYPES).map((type) => type.split('.')[0]));
    const all = [...kinds].map((kind) => [`${kind}.*`, `All events of a ${kind}.`] as const);
    return [...all, ...Object.entries(EVENT_TYPES)];
  },
  tokenId: async (hub) => {
    const tokens = (await hub.tokens.listTokens(PAGE, CALL)).serviceTokens.map(tokenView);
    return tokens.map(({ tokenId, name, role }) => [tokenId, `${role}, ${name}`]);
  },
  context: async () => {
    const { contexts } = readContexts(contextsFile(process.env));
    const stored = Object.entries(contexts).map(([name, { server }]) => [name, server] as const);
    return [[LOCAL, 'the hub on this machine'], ...stored];
  },
};

async function licenses(hub: Hub): Promise<LicenseView[]> {
  return (await hub.admin.listLicenses(PAGE, CALL)).licenses.map(licenseView);
}

function aboutLicense({ state, app, customer, keyHint }: LicenseView): string {
  return [state, app, customer, `…${keyHint}`].filter(Boolean).join(', ');
}
