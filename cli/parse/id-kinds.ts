// The kinds of ids, to explain an id of the wrong kind.

/** By prefix: the kind, the command that shows it, and the field that takes it, if any. */
const KINDS: Readonly<Record<string, readonly [noun: string, command: string, field?: string]>> = {
  lic: ['a license', 'license show', 'licenseId'],
  seat: ['a seat', 'seat list', 'seatId'],
  chs: ['a charge session', 'session inspect', 'sessionId'],
  cb: ['a callback', 'callback show', 'callbackId'],
  ord: ['an order', 'order show', 'order'],
  ofr: ['an offer', 'offer show', 'offer'],
  use: ['an entry of the usage log', 'usage list'],
  dup: ['a duplicate payment', 'session list-duplicates', 'duplicatePaymentId'],
  rfd: ['a refund', 'refund show', 'refundId'],
  fee: ['a fee rule', 'fee list', 'feeRuleId'],
  cus: ['a customer', 'customer show', 'customerId'],
  tok: ['a service token', 'token list', 'tokenId'],
  ksec: ['a key secret', 'key list-secrets'],
  mal: ['a mail', 'mail show', 'mailId'],
  whe: ['an endpoint', 'endpoint show', 'endpointId'],
  evt: ['an event', 'event show', 'eventId'],
};

/** Another kind that the field takes. */
const ALSO_MEANT: Readonly<Record<string, string>> = { order: 'chs' };

/** By field that takes a name, not an id: the command that lists these names. */
export const LISTED_BY: Readonly<Record<string, string>> = {
  slot: 'slot list',
  app: 'app list',
  offer: 'offer list',
};

/** The error text for an id of another kind; undefined if the kind is right or the text is no id. */
export function otherKind(field: string, value: string): string | undefined {
  const meant = Object.keys(KINDS).find((prefix) => KINDS[prefix]?.[2] === field);
  const better = rewritten(meant, value);
  if (better !== undefined) return `the id is spelled ${better}: try that`;
  const [, prefix = ''] = /^([a-z]+)_[0-9a-z]{26}$/.exec(value) ?? [];
  if (prefix === meant || prefix === ALSO_MEANT[field]) return undefined;
  if (prefix === 'slot' || prefix === 'app') {
    return `this is the id of ${prefix === 'app' ? 'an app' : 'a slot'}: give its name, as \`hubctl ${prefix} list\` shows it`;
  }
  const [noun, command] = KINDS[prefix] ?? [];
  return noun && `this is the id of ${noun}: see \`hubctl ${command}\``;
}

/** The error text for a secret given instead of an id, without the secret; undefined for other text. */
export function secretKind(value: string): string | undefined {
  const text = value.trim();
  const [, hint] = LICENSE_KEY.exec(text) ?? [];
  if (hint !== undefined) {
    return `this is a license key: give the id that \`hubctl license list --hint ${hint.toUpperCase()}\` shows`;
  }
  if (text.startsWith('hub_')) return 'this is a token: give the id that `hubctl token list` shows';
  if (text.startsWith('whsec_')) return 'this is a secret: give the id that `hubctl endpoint list` shows';
  return undefined;
}

/** Five groups of five symbols; the last is the hint. */
const LICENSE_KEY = /^(?:[0-9A-Z]{5}[\s-]*){4}([0-9A-Z]{5})$/i;

/**
 * The canonical form of an id in capitals or with spaces; undefined if it is canonical already or not of this
 * kind. A merchant's transaction id has the symbols of the session's id.
 */
function rewritten(meant: string | undefined, value: string): string | undefined {
  const [, prefix = 'chs', symbols] = /^(?:([a-z]+)_)?([0-9a-z]{26})$/i.exec(value.trim()) ?? [];
  if (symbols === undefined || prefix.toLowerCase() !== meant) return undefined;
  const id = `${meant}_${symbols.toLowerCase()}`;
  return id === value ? undefined : id;
}
