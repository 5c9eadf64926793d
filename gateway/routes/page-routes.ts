// The hub's own pages for customers of vendors without a shop: an offer, and an order.
import { type Client, Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { OrderService } from '../../gen/hub/order/v1/order_service_pb.ts';
import type { GuessLimit } from '../limits/guess-limit.ts';
import type { PurchaseLimit } from '../limits/purchase-limit.ts';
import { html, pageResponse } from '../pages/layout.ts';
import { type OfferForm, offerPage } from '../pages/offer-page.ts';
import { MAX_LOOKS, orderPage, otherBrowserPage } from '../pages/order-page.ts';
import { Problem } from '../problem.ts';
import { errorCode, toProblem, unavailable } from '../rpc-problem.ts';
import { readClaimed, statusOf } from './order-routes.ts';
import { type Call, queryParameter, type Route, type RouteResponse, seeOther } from './route.ts';

export type PageOptions = {
  readonly guesses: GuessLimit | undefined;
  readonly purchases: PurchaseLimit | undefined;
  /** HUB_PUBLIC_URL; undefined if it is not set. */
  readonly publicUrl: string | undefined;
};

/** `/buy/{app}/{offer}` and `/orders/{sessionId}`, served by the OrderService behind `transport`. */
export function pageRoutes(transport: Transport, options: PageOptions): Route[] {
  const orders = createClient(OrderService, transport);
  const page = { limited: true, isPage: true, about: { unlisted: 'a page for customers' } } as const;
  return [
    {
      ...page,
      method: 'any',
      hasForm: true,
      pattern: '/buy/{app}/{offer}',
      handle: (call) => serveOffer(orders, options, call),
    },
    {
      ...page,
      method: 'GET',
      pattern: '/orders/{sessionId}',
      handle: (call) => serveOrder(orders, options.guesses, call),
    },
  ];
}

type Orders = Client<typeof OrderService>;

const ALLOW = 'GET, HEAD, POST';

function serveOffer(orders: Orders, options: PageOptions, call: Call): Promise<RouteResponse> {
  if (call.method === 'GET' || call.method === 'HEAD') return showOffer(orders, call);
  if (call.method === 'POST') return buy(orders, options, call);
  throw new Problem('method_not_allowed', `Use ${ALLOW} here.`, { headers: ['Allow', ALLOW] });
}

async function showOffer(orders: Orders, call: Call, shown: Parameters<typeof offerPage>[1] = {}) {
  return offerPage(await orders.getOfferPage({ offer: offerOf(call) }, call.rpc).catch(asPageProblem), shown);
}

/** Starts the purchase: the browser gets the claim token of its session in a cookie, and goes to the checkout. */
async function buy(orders: Orders, options: PageOptions, call: Call): Promise<RouteResponse> {
  if (isFromOtherSite(call, options.publicUrl)) return otherSitePage();
  const { email = '', name = '', currency = '' } = await call.readForm();
  await options.purchases?.(call.client);
  const form: OfferForm = { email, name, currency };
  const request = {
    offer: offerOf(call),
    currency,
    customerName: name,
    customerEmail: email,
    language: languageOf(call),
  };
  try {
    const bought = await orders.buyOffer(request, { ...call.rpc, timeoutMs: BUY_TIMEOUT_MS });
    if (!/^https?:\/\//i.test(bought.checkoutUrl))
      throw unavailable(new Error('the checkout has no address'));
    const cookie = claimCookie(bought.sessionId, bought.claimToken, options.publicUrl);
    return seeOther(bought.checkoutUrl, ['Set-Cookie', cookie]);
  } catch (error) {
    const wrong = mistakeIn(error);
    if (wrong === undefined) throw buyProblem(error);
    return showOffer(orders, call, { form, wrong });
  }
}

/** A provider takes up to 30 s to create a checkout, and the browser waits. */
const BUY_TIMEOUT_MS = 35_000;

async function serveOrder(
  orders: Orders,
  guesses: GuessLimit | undefined,
  call: Call,
): Promise<RouteResponse> {
  const claimToken = claimIn(call);
  if (claimToken === undefined) return otherBrowserPage();
  const looks = looksIn(call);
  try {
    return await readClaimed(orders, guesses, call, claimToken, (order) =>
      orderPage(order, statusOf(order), looks),
    );
  } catch (error) {
    // The same page for both, so that a browser without a claim does not learn which sessions exist.
    if (['claim_invalid', 'session_unknown'].includes(errorCode(error) ?? '')) return otherBrowserPage();
    throw error;
  }
}

function offerOf({ params: [app = '', offer = ''] }: Call): string {
  return `${app}/${offer}`;
}

/**
 * Whether a page of another site sent the form. Browsers name their origin in every POST. A proxy may replace the Host,
 * so the public URL counts too.
 */
function isFromOtherSite({ headers }: Call, publicUrl: string | undefined): boolean {
  const { origin, host } = headers;
  if (origin === undefined) return !['same-origin', undefined].includes(headers['sec-fetch-site']);
  const url = URL.parse(origin);
  if (url === null) return true;
  return url.host !== host && !(publicUrl !== undefined && url.origin === new URL(publicUrl).origin);
}

function otherSitePage(): RouteResponse {
  const title = 'This form comes from another site';
  return pageResponse({
    title,
    status: 403,
    main: html`<h1>${title}</h1>
<p>Open the page of the offer, and buy there.</p>`,
  });
}

/** What the customer has to correct, in the words of the form; undefined for any other error. */
function mistakeIn(error: unknown): string | undefined {
  const code = errorCode(error);
  if (code === 'currency_not_offered') return 'Choose one of the prices.';
  if (!(error instanceof ConnectError) || error.code !== Code.InvalidArgument) return undefined;
  const { members } = toProblem(error);
  const fields = members.errors?.map(({ field }) => field) ?? [];
  if (fields.includes('customerEmail')) return 'Write an email address, such as ada@example.com.';
  if (fields.includes('customerName')) return 'Write a name of at most 200 characters, or leave it out.';
  return fields.includes('currency') ? 'Choose one of the prices.' : undefined;
}

function buyProblem(error: unknown): unknown {
  if (error instanceof Problem || !(error instanceof ConnectError)) return error;
  const code = errorCode(error);
  if (code === 'offer_unknown') return unknownOffer();
  // The configuration is wrong, or the provider does not respond: the customer can only try again.
  return code === undefined ? error : unavailable(error);
}

function asPageProblem(error: unknown): never {
  throw errorCode(error) === 'offer_unknown' ? unknownOffer() : error;
}

function unknownOffer(): Problem {
  return new Problem('not_found', 'There is no offer for sale at this address.');
}

const COOKIE = 'hub_claim';
/** A day for the payment, and the 7 days for which the claim token is valid after it. */
const COOKIE_SECONDS = 8 * 24 * 60 * 60;

/** Browsers send it to the page of this session only, and hide it from scripts. */
function claimCookie(sessionId: string, claimToken: string, publicUrl: string | undefined): string {
  const prefix = publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/+$/, '');
  const secure = publicUrl?.startsWith('https:') ? '; Secure' : '';
  return `${COOKIE}=${claimToken}; Path=${prefix}/orders/${sessionId}; Max-Age=${COOKIE_SECONDS}; HttpOnly; SameSite=Lax${secure}`;
}

function claimIn({ headers: { cookie = '' } }: Call): string | undefined {
  return /(?:^|;) *hub_claim=([A-Za-z0-9_-]{1,200})(?:;|$)/.exec(cookie)?.[1];
}

function looksIn({ query }: Call): number {
  const looks = Number(queryParameter(query, 'looks') ?? 0);
  return Number.isInteger(looks) && looks > 0 ? Math.min(looks, MAX_LOOKS) : 0;
}

/** The customer's first language, for mails; empty if the browser names none. */
function languageOf({ headers: { 'accept-language': languages = '' } }: Call): string {
  return /^ *([A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3})(?=[,; ]|$)/.exec(languages)?.[1] ?? '';
}
