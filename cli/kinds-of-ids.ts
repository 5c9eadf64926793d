// Which kind of thing an id names, for those who gave one of another kind.

/** By prefix: what it is, and where to look it up. */
const KINDS: Readonly<Record<string, readonly [noun: string, command: string]>> = {
  lic: ['a license', 'license show'],
  seat: ['a seat', 'seat list'],
  chs: ['a charge session', 'session inspect'],
  cb: ['a callback', 'callback show'],
  use: ['an entry of the usage log', 'usage list'],
  dup: ['a duplicate payment', 'session list-duplicates'],
  fee: ['a fee rule', 'fee list'],
  tok: ['a service token', 'token list'],
};

const PREFIX_OF_FIELD: Readonly<Record<string, string>> = {
  licenseId: 'lic',
  seatId: 'seat',
  sessionId: 'chs',
  callbackId: 'cb',
  duplicatePaymentId: 'dup',
  feeRuleId: 'fee',
  tokenId: 'tok',
};

/** Where the names of what an operator names are listed, by the field that takes one. */
const LISTED: Readonly<Record<string, string>> = { slot: 'slot list', app: 'app list' };

/** Which command shows what there is, for those who gave a name that nothing has; undefined for an id. */
export function listedBy(field: string): string | undefined {
  return LISTED[field];
}

/** What to say of an id that was given for another kind of thing; undefined if it is of the right kind, or no id. */
export function otherKind(field: string, value: string): string | undefined {
  const meant = PREFIX_OF_FIELD[field];
  const better = rewritten(meant, value);
  if (better !== undefined) return `an id is written ${better}: try that`;
  const [, prefix = ''] = /^([a-z]+)_[0-9a-z]{26}$/.exec(value) ?? [];
  if (prefix === meant) return undefined;
  if (prefix === 'slot' || prefix === 'app') {
    return `this is the id of ${prefix === 'app' ? 'an app' : 'a slot'}: give its name, as \`hubctl ${prefix} list\` shows it`;
  }
  const [noun, command] = KINDS[prefix] ?? [];
  return noun && `this is the id of ${noun}: see \`hubctl ${command}\``;
}

/**
 * The id as it has to be written, of one in capitals or between spaces; undefined if it is written so, or is none of
 * this kind. A merchant's transaction id, which is what providers and customers quote, is the symbols of the session's.
 */
function rewritten(meant: string | undefined, value: string): string | undefined {
  const [, prefix = 'chs', symbols] = /^(?:([a-z]+)_)?([0-9a-z]{26})$/i.exec(value.trim()) ?? [];
  if (symbols === undefined || prefix.toLowerCase() !== meant) return undefined;
  const id = `${meant}_${symbols.toLowerCase()}`;
  return id === value ? undefined : id;
}
