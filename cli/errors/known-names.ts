// Looks up existing names and ids by kind, for completion and for suggestions.

import { EVENT_TYPES } from '../../lib/presentation/event-types.ts';
import { soldText } from '../../lib/presentation/order-text.ts';
import { ORDER_STATES } from '../../lib/presentation/words.ts';
import type { CommandContext } from '../command-context.ts';
import type { Hub } from '../connect/connection.ts';
import { contextsFile, LOCAL, readContexts } from '../connect/stored-contexts.ts';
import { endpointView } from '../views/events/endpoint.ts';
import { eventView } from '../views/events/event.ts';
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
    return await source(commandContext.hub, line);
  } catch {
    return [];
  }
}

type Source = (hub: CommandContext['hub'], line: TypedLine) => Promise<KnownName[]>;

const PAGE = { pageSize: NEWEST };
const CALL = { timeoutMs: 1_000 };

/** By the word in angle brackets. */
const SOURCES: Readonly<Record<string, Source>> = {
  app: async (hub) => {
    const { admin } = await hub('admin');
    const { apps } = await admin.listApps(PAGE, CALL);
    return apps.map(({ slug, name }) => ({ value: slug, about: name }));
  },
  profile: async (hub, { given: { app = '' } }) => {
    const { admin } = await hub('admin');
    const { limitProfiles } = await admin.listLimitProfiles({ app }, CALL);
    return limitProfiles
      .map(profileView)
      .map(({ name, limits }) => ({ value: name, about: JSON.stringify(limits) }));
  },
  kid: async (hub, { given: { app = '' } }) => {
    const { admin } = await hub('admin');
    const reply = await admin.getApp({ app }, CALL);
    const keys = reply.app === undefined ? [] : appView(reply.app).signingKeys;
    // An active one cannot be withdrawn.
    return keys
      .filter(({ state }) => state === 'retired')
      .map(({ kid, state, createdAt }) => ({ value: kid, about: `${state}, made ${createdAt}` }));
  },
  licenseId: async (hub, line) => {
    const wanted = { 'license revoke': ['active', 'expired'], 'license reinstate': ['revoked'] }[
      line.command
    ];
    return (await licenses(await hub('admin')))
      .filter(({ state }) => wanted?.includes(state) ?? true)
      .map((license) => ({ value: license.licenseId, about: aboutLicense(license) }));
  },
  seatId: async (hub) => {
    const { admin } = await hub('admin');
    const used = (await licenses({ admin }))
      .filter(({ seatsUsed }) => seatsUsed > 0)
      .slice(0, LICENSES_WITH_SEATS);
    const replies = await Promise.all(
      used.map(({ licenseId }) => admin.listSeats({ licenseId, ...PAGE }, CALL)),
    );
    return replies
      .flatMap(({ seats }) => seats.map(seatView))
      .map((seat) => ({ value: seat.seatId, about: seat.machineLabel ?? seat.machineFingerprint }));
  },
  offer: async (hub, { command, given: { app } }) => {
    const { offers } = await hub('offers');
    const wanted = { includeArchived: command.startsWith('offer '), ...(app !== undefined && { app }) };
    const { offers: found } = await offers.listOffers({ ...PAGE, ...wanted }, CALL);
    const archived = { 'offer archive': false, 'offer unarchive': true }[command];
    return found
      .map(offerView)
      .filter(({ archivedAt }) => archived === undefined || archived === (archivedAt !== undefined))
      .map((offer) => ({
        value: `${offer.app}/${offer.slug}`,
        about: [offer.name, ...offer.prices.map(moneyText)].join(', '),
      }));
  },
  mailId: async (hub, { command }) => {
    const { mails } = await hub('mails');
    const { mails: found } = await mails.listMails(PAGE, CALL);
    return found
      .map(mailView)
      .filter(({ state }) => command !== 'mail resend' || state !== 'sent')
      .map((mail) => ({ value: mail.mailId, about: `${mail.state}, ${mail.kind} of ${mail.app}` }));
  },
  order: async (hub, { command }) => {
    const { orders } = await hub('orders');
    const wanted = command === 'order retry' ? { state: ORDER_STATES.blocked } : {};
    const { orders: found } = await orders.listOrders({ ...PAGE, ...wanted }, CALL);
    return found
      .map(orderView)
      .map((order) => ({ value: order.orderId, about: `${order.state}, ${soldText(order)}` }));
  },
  gateway: async (hub) => {
    const { paymentAdmin } = await hub('paymentAdmin');
    const { gateways } = await paymentAdmin.listGateways({}, CALL);
    return gateways.map(({ gateway, credentials }) => ({ value: gateway, about: credentials.join(', ') }));
  },
  slot: async (hub, { command }) => {
    const { paymentAdmin } = await hub('paymentAdmin');
    const { slots } = await paymentAdmin.listSlots({}, CALL);
    const disabled = { 'slot enable': true, 'slot disable': false, 'session create': false }[command];
    return slots
      .map(slotView)
      .filter((slot) => disabled === undefined || slot.disabled === disabled)
      .map((slot) => ({ value: slot.name, about: `${slot.gateway}, ${slot.environment}` }));
  },
  sessionId: async (hub) => {
    const { payments } = await hub('payments');
    const { sessions } = await payments.listChargeSessions(PAGE, CALL);
    return sessions.map(chargeSessionView).map((session) => ({
      value: session.sessionId,
      about: [session.status, moneyText(session), session.orderReference].filter(Boolean).join(', '),
    }));
  },
  callbackId: async (hub) => {
    const { paymentAdmin } = await hub('paymentAdmin');
    const { callbacks } = await paymentAdmin.listCallbacks(PAGE, CALL);
    return callbacks.map(callbackView).map((callback) => ({
      value: callback.callbackId,
      about: `${callback.state}, ${callback.gateway}, ${callback.receivedAt}`,
    }));
  },
  duplicatePaymentId: async (hub) => {
    const { paymentAdmin } = await hub('paymentAdmin');
    const { duplicatePayments } = await paymentAdmin.listDuplicatePayments(PAGE, CALL);
    return duplicatePayments.map(duplicatePaymentView).map((duplicate) => ({
      value: duplicate.duplicatePaymentId,
      about: `${moneyText(duplicate)}, ${duplicate.sessionId}`,
    }));
  },
  refundId: async (hub, { command }) => {
    const { refunds } = await hub('refunds');
    const wanted = command === 'refund resolve' ? { needsReview: true } : {};
    const { refunds: found } = await refunds.listRefunds({ ...PAGE, ...wanted }, CALL);
    return found.map(refundView).map((refund) => ({
      value: refund.refundId,
      about: `${refund.state}, ${moneyText(refund)}, ${refund.sessionId}`,
    }));
  },
  feeRuleId: async (hub) => {
    const { paymentAdmin } = await hub('paymentAdmin');
    const { rules } = await paymentAdmin.listFeeRules({}, CALL);
    return rules.map(feeRuleView).map((rule) => ({
      value: rule.feeRuleId,
      about: `${rule.name}, version ${rule.version}, ${rule.percent} %`,
    }));
  },
  customerId: async (hub) => {
    const { customers } = await hub('customers');
    const reply = await customers.listCustomers(PAGE, CALL);
    return reply.customers.map(({ customerId, name }) => ({ value: customerId, about: name || 'erased' }));
  },
  endpointId: async (hub, { command }) => {
    const { events } = await hub('events');
    const { endpoints } = await events.listEndpoints({}, CALL);
    const disabled = { 'endpoint enable': true, 'endpoint disable': false, 'event replay': false }[command];
    return endpoints
      .map(endpointView)
      .filter(({ disabledAt }) => disabled === undefined || disabled === (disabledAt !== undefined))
      .map((endpoint) => ({ value: endpoint.endpointId, about: endpoint.url }));
  },
  eventId: async (hub) => {
    const { events } = await hub('events');
    const { events: found } = await events.listEvents(PAGE, CALL);
    return found
      .map(eventView)
      .map(({ eventId, type, object }) => ({ value: eventId, about: `${type}, ${object}` }));
  },
  pattern: async () => {
    const kinds = [...new Set(Object.keys(EVENT_TYPES).map((type) => type.split('.')[0]))];
    return [
      ...kinds.map((kind) => ({ value: `${kind}.*`, about: `All events of a ${kind}.` })),
      ...Object.entries(EVENT_TYPES).map(([value, about]) => ({ value, about })),
    ];
  },
  tokenId: async (hub) => {
    const { tokens } = await hub('tokens');
    const { serviceTokens } = await tokens.listTokens(PAGE, CALL);
    return serviceTokens
      .map(tokenView)
      .map(({ tokenId, name, role }) => ({ value: tokenId, about: `${role}, ${name}` }));
  },
  context: async () => {
    const { contexts } = readContexts(contextsFile(process.env));
    const local = { value: LOCAL, about: 'the hub on this machine' };
    return [local, ...Object.entries(contexts).map(([name, { server }]) => ({ value: name, about: server }))];
  },
};

async function licenses({ admin }: Pick<Hub, 'admin'>): Promise<LicenseView[]> {
  return (await admin.listLicenses(PAGE, CALL)).licenses.map(licenseView);
}

function aboutLicense({ state, app, customer, keyHint }: LicenseView): string {
  return [state, app, customer, `…${keyHint}`].filter(Boolean).join(', ');
}
