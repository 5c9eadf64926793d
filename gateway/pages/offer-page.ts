// The hub's own page of an offer, for vendors without a shop.
import type { GetOfferPageResponse } from '../../gen/hub/order/v1/order_service_pb.ts';
import type { Money } from '../../gen/hub/payment/v1/payment_pb.ts';
import { formatDecimal } from '../../lib/presentation/money.ts';
import type { RouteResponse } from '../routes/route.ts';
import { type Html, html, NOTHING, pageResponse } from './layout.ts';

export type OfferForm = { readonly email: string; readonly name: string; readonly currency: string };

const EMPTY: OfferForm = { email: '', name: '', currency: '' };

/** `wrong`: what a customer who sent the form has to correct. */
export function offerPage(
  { appName, offerName, prices }: GetOfferPageResponse,
  { form = EMPTY, wrong }: { readonly form?: OfferForm; readonly wrong?: string } = {},
): RouteResponse {
  return pageResponse({
    title: `${offerName}: ${appName}`,
    status: wrong === undefined ? 200 : 400,
    hasForm: true,
    main: html`<h1>${offerName}</h1>
<p>${appName}</p>
${wrong === undefined ? NOTHING : html`<p class="bad" role="alert" id="wrong">${wrong}</p>`}
<form method="post">
${pricesOf(prices, form.currency)}
<label>Email <input type="email" name="email" value="${form.email}" required maxlength="200" autocomplete="email"></label>
<label>Name (optional) <input type="text" name="name" value="${form.name}" maxlength="200" autocomplete="name"></label>
<button>Continue to payment</button>
</form>
<p class="soft">You pay at the payment provider. This site then shows your license key.</p>`,
  });
}

function pricesOf(prices: readonly Money[], chosen: string): Html {
  const [only, ...others] = prices;
  if (only === undefined) return NOTHING;
  if (others.length === 0) {
    return html`<p><strong>${priceOf(only)}</strong></p>
<input type="hidden" name="currency" value="${only.currency}">`;
  }
  const checked = prices.find(({ currency }) => currency === chosen) ?? only;
  return html`<fieldset><legend>Price</legend>
${prices.map(
  (price) =>
    html`<label><input type="radio" name="currency" value="${price.currency}"${price === checked ? html` checked` : NOTHING}> ${priceOf(price)}</label>`,
)}
</fieldset>`;
}

function priceOf({ minorUnits, currency }: Money): string {
  return `${formatDecimal(minorUnits, currency)} ${currency}`;
}
