// The reference model: the final state of a session after the actions of customers and attackers.
import type { Claim, GatewayName } from '../../support/hub/payment.ts';

export type ModelSession = {
  readonly gateway: GatewayName;
  /**
   * The state of the payment at the provider. `authorized` (gateway_two): the hub has not captured the money
   * yet.
   */
  provider: 'open' | 'authorized' | 'paid' | 'failed' | 'cancelled' | 'reversed';
  /** The claims of all callbacks that lead to the session: true or not, delivered or not. */
  readonly claims: Set<Claim>;
  /** The number of additional payments by the customer. None of them settles a session. */
  secondPayments: number;
};

export type Model = { readonly sessions: readonly ModelSession[] };

export function newModelSession(gateway: GatewayName): ModelSession {
  return { gateway, provider: 'open', claims: new Set(), secondPayments: 0 };
}

/** What a customer can do at the checkout. `leave`: authorize with gateway_two and close the tab. */
export type CustomerAction = 'pay' | 'fail' | 'cancel' | 'leave';

/**
 * Whether the checkout is still open. After a failure, gateway_one's allows another attempt, and
 * gateway_two's does not.
 */
export function canAct({ gateway, provider }: ModelSession, action: CustomerAction): boolean {
  if (gateway === 'gateway_two') return provider === 'open';
  return action !== 'leave' && (provider === 'open' || provider === 'failed' || provider === 'cancelled');
}

export function act(session: ModelSession, action: CustomerAction): void {
  if (action === 'pay' || action === 'leave') {
    session.provider = session.gateway === 'gateway_two' ? 'authorized' : 'paid';
  } else {
    session.provider = action === 'fail' ? 'failed' : 'cancelled';
  }
}

/** Low enough for one check of the hub to query all payments that callbacks name. */
const MAX_SECOND_PAYMENTS = 2;

/** Whether the session is paid, or will be after the hub has captured the money. */
export function mayPayAgain({ provider, secondPayments }: ModelSession): boolean {
  return (provider === 'authorized' || provider === 'paid') && secondPayments < MAX_SECOND_PAYMENTS;
}

/** The statuses that the session may have after all work has ended. */
export function allowedStatuses({ provider, claims }: ModelSession): readonly string[] {
  switch (provider) {
    case 'authorized':
    case 'paid':
      return ['success'];
    case 'failed':
    case 'cancelled':
      return [provider]; // the sweep continues and decides
    case 'reversed':
      return ['cancelled']; // the provider said so, whatever callbacks claimed before or after
    case 'open':
      return ['pending', ...believed(claims)];
  }
}

/** The hub accepts a failure without a query, since it moves no money. */
function believed(claims: ReadonlySet<Claim>): readonly string[] {
  return [...claims].filter((claim) => claim !== 'paid');
}
