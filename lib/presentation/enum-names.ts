// Names of the proto enum values, in JSON, in tables of the database and on screens.
//
// The numbers are those of the generated enums, which would load protobuf and slow down help.

export const ROLES = {
  admin: 1,
  operator: 2,
  service: 3,
  viewer: 4,
  monitor: 5,
  gateway: 6,
  shop: 7,
} as const;

export const CHARGE_STATUSES = { pending: 1, success: 2, failed: 3, cancelled: 4 } as const;

export const ACTOR_KINDS = { token: 1, certificate: 2, hub: 3, local: 4 } as const;

export const CALLBACK_STATES = {
  received: 1,
  settled: 2,
  ignored: 3,
  unresolved: 4,
  mismatch: 5,
  dead: 6,
} as const;

export const DELIVERY_STATES = { pending: 1, delivered: 2, failed: 3 } as const;

/** What a mail is about. */
export const MAIL_KINDS = { license: 1, renewal: 2, seats: 3 } as const;

export const MAIL_STATES = { queued: 1, sent: 2, failed: 3 } as const;

export const FEE_RULE_STATES = { planned: 1, in_force: 2, overridden: 3, ended: 4 } as const;

/** `grace`: past the expiry, and still valid. */
export const LICENSE_STATES = { active: 1, grace: 4, suspended: 5, expired: 3, revoked: 2 } as const;

export const ORDER_STATES = { fulfilled: 1, blocked: 2, refunded: 3 } as const;

/** What a full refund does with the licenses of an order. */
export const REFUND_POLICIES = { suspend: 1, revoke: 2, keep: 3, undo: 4 } as const;

/** What a full refund did with a license. */
export const TAKEN_BACK = { suspended: 1, revoked: 2, undone: 3, kept: 4 } as const;

export const REFUND_STATES = { pending: 1, succeeded: 2, failed: 3 } as const;

export const REFUND_KINDS = { refund: 1, dispute: 2 } as const;

/** Who began a refund. */
export const REFUND_ORIGINS = { hub: 1, provider: 2 } as const;

export const USAGE_KINDS = { payment: 1, reversal: 2, refund: 3, later_payment: 4 } as const;

/** The name of an enum value; undefined if it has none. */
export function nameOf<N extends string>(words: Readonly<Record<N, number>>, number: number): N | undefined {
  const names = Object.keys(words) as N[]; // the keys of a record are its names
  return names.find((name) => words[name] === number);
}

/** The enum value with a name; 0, which means unspecified, if there is none. */
export function numberOf<N extends number>(words: Readonly<Record<string, N>>, name: string): N | 0 {
  return Object.hasOwn(words, name) ? (words[name] ?? 0) : 0;
}

/** The name of an enum value; `unknown` for values of newer hubs. */
export function wordFor(words: Readonly<Record<string, number>>, number: number): string {
  return nameOf(words, number) ?? 'unknown';
}
