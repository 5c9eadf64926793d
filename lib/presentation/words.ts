// Names of the proto enum values, as hubctl and the console show them.

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

export const FEE_RULE_STATES = { planned: 1, in_force: 2, overridden: 3, ended: 4 } as const;

export const USAGE_KINDS = { payment: 1, reversal: 2, refund: 3, later_payment: 4 } as const;

/** The name of an enum value; `unknown` for values of newer hubs. */
export function wordFor(words: Readonly<Record<string, number>>, number: number): string {
  return Object.entries(words).find(([, each]) => each === number)?.[0] ?? 'unknown';
}
