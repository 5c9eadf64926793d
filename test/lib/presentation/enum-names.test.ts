// The names of enum values are those of the contract.
import { expect } from 'chai';
import { Role } from '../../../gen/hub/access/v1/access_pb.ts';
import { ActorKind } from '../../../gen/hub/access/v1/audit_service_pb.ts';
import { DeliveryState } from '../../../gen/hub/event/v1/event_pb.ts';
import { OrderState } from '../../../gen/hub/order/v1/order_pb.ts';
import {
  CallbackState,
  ChargeStatus,
  FeeRuleState,
  UsageLogKind,
} from '../../../gen/hub/payment/v1/payment_pb.ts';
import {
  ACTOR_KINDS,
  CALLBACK_STATES,
  CHARGE_STATUSES,
  DELIVERY_STATES,
  FEE_RULE_STATES,
  nameOf,
  numberOf,
  ORDER_STATES,
  ROLES,
  USAGE_KINDS,
  wordFor,
} from '../../../lib/presentation/enum-names.ts';

/** `{ pending: 1 }` from an enum with PENDING = 1. */
function namesOf(values: Readonly<Record<string, string | number>>): Record<string, number> {
  const numbers = Object.entries(values).filter(
    (entry): entry is [string, number] => typeof entry[1] === 'number' && entry[0] !== 'UNSPECIFIED',
  );
  return Object.fromEntries(numbers.map(([name, number]) => [name.toLowerCase(), number]));
}

describe('the names of enum values', () => {
  it('have the numbers of the contract', () => {
    expect(ROLES).to.deep.equal(namesOf(Role));
    expect(ACTOR_KINDS).to.deep.equal(namesOf(ActorKind));
    expect(CHARGE_STATUSES).to.deep.equal(namesOf(ChargeStatus));
    expect(CALLBACK_STATES).to.deep.equal(namesOf(CallbackState));
    expect(FEE_RULE_STATES).to.deep.equal(namesOf(FeeRuleState));
    expect(ORDER_STATES).to.deep.equal(namesOf(OrderState));
    expect(USAGE_KINDS).to.deep.equal(namesOf(UsageLogKind));
    expect(DELIVERY_STATES).to.deep.equal(namesOf(DeliveryState));
  });

  it('are unknown for the numbers of newer hubs', () => {
    expect(nameOf(ROLES, 1)).to.equal('admin');
    expect(nameOf(ROLES, 99)).to.equal(undefined);
    expect(wordFor(ROLES, 99)).to.equal('unknown');
  });

  it('have no number if they are not names of the contract', () => {
    expect(numberOf(ROLES, 'admin')).to.equal(1);
    for (const name of ['', 'owner', 'toString']) expect(numberOf(ROLES, name), name).to.equal(0);
  });
});
