// The names and ids that there are of each kind of thing, for lines that are being typed and for words mistyped.
import type { Hub } from './connection.ts';
import { contextsFile, LOCAL, readContexts } from './stored-contexts.ts';
import type { Tools } from './tools.ts';
import { appView } from './views/app.ts';
import { callbackView } from './views/callback.ts';
import { chargeSessionView } from './views/charge-session.ts';
import { duplicatePaymentView } from './views/duplicate-payment.ts';
import { feeRuleView } from './views/fee-rule.ts';
import { type LicenseView, licenseView } from './views/license.ts';
import { moneyText } from './views/money.ts';
import { profileView } from './views/profile.ts';
import { seatView } from './views/seat.ts';
import { slotView } from './views/slot.ts';
import { tokenView } from './views/token.ts';

/** `about` tells people which one it is. */
export type KnownName = { readonly value: string; readonly about: string };

/** A line, as far as it is typed. */
export type TypedLine = {
  /** `license revoke` */
  readonly command: string;
  /** What was given of other kinds: `{ app: 'photo-lab' }` */
  readonly given: Readonly<Record<string, string>>;
};

/** So many are looked through, the newest ones: whoever types an id has seen it lately. */
const NEWEST = 200;
/** The seats of so many licenses are looked for. */
const LICENSES_WITH_SEATS = 10;

/**
 * Names of a kind, which is what stands in the angle brackets of an option or argument; those that make sense for the
 * command. None if there is no such kind, or the hub does not answer a call within a second: nobody waits for this, or
 * wants an error.
 */
export async function knownNames(
  kind: string,
  tools: Pick<Tools, 'hub'>,
  line: TypedLine,
): Promise<KnownName[]> {
  const source = Object.hasOwn(SOURCES, kind) ? SOURCES[kind] : undefined;
  if (source === undefined) return [];
  try {
    return await source(tools.hub, line);
  } catch {
    return [];
  }
}

type Source = (hub: Tools['hub'], line: TypedLine) => Promise<KnownName[]>;

const PAGE = { pageSize: NEWEST };
const CALL = { timeoutMs: 1_000 };

/** By what stands in the angle brackets. */
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
  feeRuleId: async (hub) => {
    const { paymentAdmin } = await hub('paymentAdmin');
    const { rules } = await paymentAdmin.listFeeRules({}, CALL);
    return rules.map(feeRuleView).map((rule) => ({
      value: rule.feeRuleId,
      about: `${rule.name}, version ${rule.version}, ${rule.percent} %`,
    }));
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
