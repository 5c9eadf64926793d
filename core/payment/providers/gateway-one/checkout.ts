// Creates the checkout of a charge session at gateway_one.
import { formatDecimal } from '../../money.ts';
import {
  type Checkout,
  type CheckoutRequest,
  type PaymentDriver,
  ProviderRefused,
  ProviderUnavailable,
} from '../driver.ts';
import {
  type Answer,
  addressOf,
  optionalText,
  readCheckoutUrl,
  recordStep,
  requiredId,
  requiredText,
} from '../driver-calls.ts';
import { call, store } from './verify-payment.ts';

export const createCheckout: PaymentDriver['createCheckout'] = (access, checkout) =>
  recordStep(
    access,
    'initiate',
    async () =>
      readCheckout(
        await call(access, {
          method: 'POST',
          url: addressOf(access.baseUrl, '/gwprocess/v4/api.php'),
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: new URLSearchParams({ ...store(access), ...checkoutForm(checkout) }).toString(),
        }),
      ),
    () => ({ outcome: 'pending', detail: 'the provider created a checkout' }),
  );

/**
 * The provider requires every customer field, so unknown ones get a neutral value. It redirects the
 * customer's browser with the same fields as its notification: if the notification is lost, the browser
 * brings it, to either URL.
 */
function checkoutForm({
  sessionId,
  merchantTransactionId,
  amount,
  callbackUrl,
  browserUrl = callbackUrl,
  orderReference,
  customer,
}: CheckoutRequest) {
  return {
    total_amount: formatDecimal(amount),
    currency: amount.currency,
    tran_id: merchantTransactionId,
    ipn_url: callbackUrl,
    success_url: browserUrl,
    fail_url: browserUrl,
    cancel_url: browserUrl,
    product_name: orderReference || 'Order',
    product_category: 'general',
    product_profile: 'general',
    num_of_item: '1',
    shipping_method: 'NO',
    cus_name: customer.name || 'Customer',
    cus_email: customer.email || 'customer@example.com',
    cus_phone: customer.phone || '0000000000',
    cus_add1: customer.address || 'Not given',
    cus_city: customer.city || 'Not given',
    cus_postcode: customer.postcode || '0000',
    cus_country: customer.country || 'Bangladesh',
    value_a: sessionId,
  };
}

/** The answer to initiate. @throws ProviderRefused, ProviderUnavailable */
export function readCheckout(answer: Answer): Checkout {
  const status = requiredText(answer, 'status');
  if (status === 'FAILED') {
    const reason = optionalText(answer, 'failedreason') ?? 'no reason given';
    throw new ProviderRefused(`the provider refused the checkout: ${reason}`);
  }
  if (status !== 'SUCCESS') {
    throw new ProviderUnavailable(`the provider answered with the status ${status}`);
  }
  return {
    providerPaymentId: requiredId(answer, 'sessionkey'),
    checkoutUrl: readCheckoutUrl(answer, 'GatewayPageURL'),
  };
}
