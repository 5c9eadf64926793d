// The hub's own page of an order: it waits for the payment, and then shows the license key.
import { OrderState } from '../../gen/hub/order/v1/order_pb.ts';
import type { ClaimedLicense, GetClaimedOrderResponse } from '../../gen/hub/order/v1/order_service_pb.ts';
import type { OrderStatus } from '../routes/order-routes.ts';
import type { RouteResponse } from '../routes/route.ts';
import { type Html, html, NOTHING, pageResponse, pageScript } from './layout.ts';

/** How often a browser without scripts looks again, and after how many seconds. */
export const MAX_LOOKS = 60;
const LOOK_SECONDS = 15;

/** Looks again for about a quarter of an hour, ever less often, and reloads the page when it has changed. */
const WAITING_SCRIPT = pageScript(`(() => {
  const waiting = 'data-state="waiting"';
  let looks = 0;
  const look = async () => {
    looks += 1;
    try {
      const response = await fetch(location.pathname, { cache: 'no-store' });
      if (response.ok && !(await response.text()).includes(waiting)) return location.replace(location.pathname);
    } catch {}
    if (looks < 80) return setTimeout(look, Math.min(2000 + 400 * looks, 15000));
    document.getElementById('late').hidden = false;
  };
  setTimeout(look, 2000);
})();`);

const COPY_SCRIPT = pageScript(`(() => {
  if (!navigator.clipboard) return;
  const said = document.getElementById('said');
  for (const button of document.querySelectorAll('[data-copies]')) {
    button.hidden = false;
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(document.getElementById(button.dataset.copies).textContent);
      said.textContent = 'Copied.';
    });
  }
})();`);

/** `looks`: how often a browser without scripts has looked before. */
export function orderPage(order: GetClaimedOrderResponse, status: OrderStatus, looks: number): RouteResponse {
  if (status === 'pending') return waitingPage(order, looks);
  if (status !== 'paid') return unpaidPage(order, status);
  if (order.orderState === OrderState.BLOCKED) return blockedPage(order);
  return paidPage(order);
}

function waitingPage(order: GetClaimedOrderResponse, looks: number): RouteResponse {
  const next = looks + 1;
  const refresh = html`<noscript><meta http-equiv="refresh" content="${`${LOOK_SECONDS}; url=?looks=${next}`}"></noscript>`;
  return pageResponse({
    title: 'Waiting for your payment',
    head: next > MAX_LOOKS ? NOTHING : refresh,
    script: WAITING_SCRIPT,
    main: html`<div data-state="waiting" role="status"><h1>Waiting for your payment</h1>
<p>The payment provider has not confirmed it yet. This usually takes a few seconds. This page shows your license key then.</p></div>
<p id="late"${next > MAX_LOOKS ? NOTHING : html` hidden`}>It takes longer than usual. You can close this page and open it again later in this browser. <a href="?">Look again</a></p>
${backTo(order)}`,
  });
}

function paidPage(order: GetClaimedOrderResponse): RouteResponse {
  const { appName, offerName, downloadUrl, orderId, licenses } = order;
  return pageResponse({
    title: 'Thank you for your payment',
    script: COPY_SCRIPT,
    main: html`<h1>Thank you for your payment</h1>
${appName === '' ? NOTHING : html`<p>${appName}: ${offerName}</p>`}
${licenses.map((license, index) => licenseOf(license, index, licenses.length))}
<p id="said" role="status" class="good"></p>
${downloadOf(downloadUrl, appName)}
${licenses.length === 0 ? NOTHING : html`<p class="soft">Keep the key: this page shows it for 7 days, and only in this browser.</p>`}
${orderId === '' ? NOTHING : html`<p class="soft">Order ${orderId}</p>`}
${backTo(order)}`,
  });
}

function licenseOf({ licenseId, licenseKey }: ClaimedLicense, index: number, count: number): Html {
  if (licenseKey === '') return html`<p>Your license ${licenseId} is up to date. Its key stays the same.</p>`;
  const id = `key-${index}`;
  const title = count === 1 ? 'Your license key' : `License key ${String(index + 1)}`;
  return html`<h2>${title}</h2>
<code class="key" id="${id}">${licenseKey}</code>
<p><button type="button" data-copies="${id}" hidden>Copy ${count === 1 ? 'key' : `key ${String(index + 1)}`}</button></p>`;
}

function downloadOf(downloadUrl: string, appName: string): Html {
  if (!/^https?:\/\//i.test(downloadUrl)) return NOTHING;
  return html`<p><a class="button" href="${downloadUrl}" rel="noreferrer">Download ${appName}</a></p>`;
}

function blockedPage(order: GetClaimedOrderResponse): RouteResponse {
  return pageResponse({
    title: 'Your payment has arrived',
    main: html`<h1>Your payment has arrived</h1>
<p>Your license could not be issued yet. The vendor has been told, and this page shows the license once it is there.</p>
<p>If you write to the vendor, name the order: ${order.orderId}</p>
${backTo(order)}`,
  });
}

const UNPAID = {
  failed: ['The payment failed', 'The payment provider did not accept the payment. You can buy again.'],
  cancelled: ['The payment was cancelled', 'Nothing was paid. You can buy again.'],
  refunded: ['The payment was refunded', 'Your payment was refunded, so this page shows no license key.'],
} as const;

function unpaidPage(order: GetClaimedOrderResponse, status: keyof typeof UNPAID): RouteResponse {
  const [title, text] = UNPAID[status];
  return pageResponse({ title, main: html`<h1>${title}</h1>\n<p>${text}</p>\n${backTo(order)}` });
}

/** For a browser that may not see the order. It is the same for every session. */
export function otherBrowserPage(): RouteResponse {
  return pageResponse({
    title: 'This browser cannot show the order',
    status: 403,
    main: html`<h1>This browser cannot show the order</h1>
<p>An order is shown only in the browser in which it was bought, for 7 days after the payment. Your payment does not depend on this page.</p>`,
  });
}

function backTo({ returnUrl }: GetClaimedOrderResponse): Html {
  return returnUrl === '' ? NOTHING : html`<p><a href="${returnUrl}">Back to the shop</a></p>`;
}
