// The policy of an offer: what the hub takes back when a payment is refunded in full.
import type { RefundPolicy } from '../../../gen/hub/order/v1/order_pb.ts';
import { nameOf, REFUND_POLICIES } from '../../../lib/presentation/enum-names.ts';
import { HubError } from '../../errors.ts';
import type { RefundPolicyName } from '../entities.ts';
import type { Grant } from './grant.ts';

/** The policies that suit each kind of grant; the first is the default. */
const POLICIES: Readonly<Record<Grant['kind'], readonly [RefundPolicyName, ...RefundPolicyName[]]>> = {
  license: ['suspend', 'revoke', 'keep'],
  renewal: ['undo', 'keep'],
  seats: ['undo', 'keep'],
};

/** @throws HubError `offer_invalid` for a policy that does not suit the grant */
export function refundPolicyFromProto(policy: RefundPolicy, kind: Grant['kind']): RefundPolicyName {
  const suitable = POLICIES[kind];
  const name = nameOf(REFUND_POLICIES, policy) ?? suitable[0];
  if (suitable.includes(name)) return name;
  const granted = kind === 'license' ? 'new licenses' : kind === 'renewal' ? 'a renewal' : 'more seats';
  throw new HubError('offer_invalid', `on a refund of ${granted}, choose ${suitable.join(' or ')}`, {
    field: 'terms.onRefund',
  });
}
