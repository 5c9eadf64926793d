// An operator of one slot tries to spare his slot the fees of the house, and to change those of others.
import { type Client, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { Role } from '../../gen/hub/access/v1/access_pb.ts';
import { TokenService } from '../../gen/hub/access/v1/token_service_pb.ts';
import { PaymentAdminService } from '../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { refusal } from '../core/payment/refusal.ts';
import { transportTo } from '../support/hub/hub.ts';
import { type Payments, startPayments } from '../support/hub/payment.ts';

type Admin = Client<typeof PaymentAdminService>;
type Rule = NonNullable<Parameters<Admin['addFeeRule']>[0]['rule']>;

describe('attack: the fee rules of a slot operator', () => {
  let payments: Payments;
  let operator: Admin;
  before(async () => {
    payments = await startPayments();
    const tokens = createClient(TokenService, payments.hub.transport);
    const { token } = await tokens.createToken({ role: Role.OPERATOR, slots: ['store'] });
    operator = createClient(PaymentAdminService, transportTo(payments.hub.rpcUrl, token));
  });
  after(() => payments.stop());

  const feeOf = async (slot: string) => {
    const amount = { minorUnits: 10_000n, currency: 'BDT' };
    return (await payments.admin.previewFees({ slot, amount })).feeTotal?.minorUnits;
  };
  const refused = async (call: Promise<unknown>) => (await refusal(call)).code;

  it('do not override rules for any slot, in either order', async () => {
    const nothing: Rule = { name: 'house', slot: 'store', basisPoints: 0 };
    const early = (await operator.addFeeRule({ rule: nothing })).rule;
    const house = (await payments.admin.addFeeRule({ rule: { name: 'house', basisPoints: 200 } })).rule;
    expect(await feeOf('store')).to.equal(200n);
    expect(await refused(operator.addFeeRule({ rule: nothing }))).to.equal('fee_rule_locked');
    const inBdt = { ...nothing, currency: 'BDT' };
    expect(await refused(operator.addFeeRule({ rule: inBdt }))).to.equal('fee_rule_locked');
    // Rules of others do not exist for the operator; the operator's own can be retired.
    const feeRuleId = house?.feeRuleId ?? '';
    expect(await refused(operator.retireFeeRule({ feeRuleId }))).to.equal('fee_rule_unknown');
    await operator.retireFeeRule({ feeRuleId: early?.feeRuleId ?? '' });
    expect(await feeOf('store')).to.equal(200n);
  });

  it('do not affect other slots, a gateway or all slots', async () => {
    const rule: Rule = { name: 'mine', basisPoints: 1 };
    expect(await refused(operator.addFeeRule({ rule: { ...rule, slot: 'wallet' } }))).to.equal(
      'slot_unknown',
    );
    for (const wide of [rule, { ...rule, gateway: 'gateway_two' }, { ...rule, slotsMayOverride: true }]) {
      const error = await refusal(operator.addFeeRule({ rule: wide }));
      expect(error.message).to.include('only with rule.slot');
    }
    expect(await feeOf('wallet')).to.equal(200n);
  });

  it('apply in their slot only if an unlimited operator allows it', async () => {
    await payments.admin.addFeeRule({ rule: { name: 'house', basisPoints: 200, slotsMayOverride: true } });
    await operator.addFeeRule({ rule: { name: 'house', slot: 'store', basisPoints: 50 } });
    expect([await feeOf('store'), await feeOf('wallet')]).to.deep.equal([50n, 200n]);
    await payments.admin.addFeeRule({ rule: { name: 'house', basisPoints: 200 } });
    expect(await feeOf('store')).to.equal(200n);
  });
});
