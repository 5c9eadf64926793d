// The reference model: the final state of a session after the actions of customers and attackers.
import type { Claim, GatewayName } from '../../support/hub/payment.ts';

export type ModelSession = {
  readonly gateway: GatewayName;
  /** Where the payment stands at the provider. `authorized` (gateway_two): the hub has yet to move the money. */
  provider: 'open' | 'authorized' | 'paid' | 'failed' | 'cancelled' | 'reversed';
  /** What callbacks that lead to the session said of it, true or not, delivered or not. */
  readonly claims: Set<Claim>;
  /** How often the customer has paid it again: none of them settles anything. */
  secondPayments: number;
};

export type Model = { readonly sessions: readonly ModelSession[] };

export function newModelSession(gateway: GatewayName): ModelSession {
  return { gateway, provider: 'open', claims: new Set(), secondPayments: 0 };
}

/** What a customer can do at the checkout; `leave`: authorize with gateway_two, and close the tab. */
export type CustomerAction = 'pay' | 'fail' | 'cancel' | 'leave';

/** Whether the checkout is still open: gateway_one's may be tried again after a failure, gateway_two's may not. */
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

/** So many callbacks name another payment that one check of the hub can ask about them all. */
const MOST_SECOND_PAYMENTS = 2;

/** Whether the session is paid, or will be once the hub has moved the money. */
export function mayPayAgain({ provider, secondPayments }: ModelSession): boolean {
  return (provider === 'authorized' || provider === 'paid') && secondPayments < MOST_SECOND_PAYMENTS;
}

/** The statuses that the session may have once everything has come to rest. */
export function allowedStatuses({ provider, claims }: ModelSession): readonly string[] {
  switch (provider) {
    case 'authorized':
    case 'paid':
      return ['success'];
    case 'failed':
    case 'cancelled':
      return [provider]; // the sweep goes on, and has the last word
    case 'reversed':
      return ['cancelled']; // the provider said so when it was asked, whatever was claimed before or after
    case 'open':
      return ['pending', ...believed(claims)];
  }
}

/** A failure is believed without asking: it moves no money. */
function believed(claims: ReadonlySet<Claim>): readonly string[] {
  return [...claims].filter((claim) => claim !== 'paid');
}
