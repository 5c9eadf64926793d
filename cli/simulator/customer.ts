// Actions of the simulated customer: view the checkout page and press its buttons, in a browser or without
// one.
import type { Callbacks } from './callbacks.ts';
import type { Ledger } from './ledger.ts';
import { checkoutPage } from './pages/checkout-page.ts';
import { indexPage } from './pages/index-page.ts';
import { messagePage, PAGE_HEADERS } from './pages/layout.ts';
import {
  type Attempt,
  type Gateway,
  mayDecide,
  type Outcome,
  type Payment,
  SimulatorError,
} from './payment.ts';
import type { Call, CallbackRequest, Provider } from './provider.ts';

export type CustomerOptions = {
  readonly ledger: Ledger;
  readonly callbacks: Callbacks;
  readonly providers: Readonly<Record<Gateway, Provider>>;
  /** Completes a checkout of Stripe with a payment that a bank settles later. */
  readonly payLater: (ref: string) => void;
};

export type Customer = ReturnType<typeof createCustomer>;

export type Page = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly html: string;
};

const FORGOTTEN = 'The simulator keeps payments in memory: it may have been restarted.';
const LEFT = 'Close this tab now. The merchant gets no callback and must query the provider.';

/** The buttons of the page and their outcomes. */
const PRESSES = new Map<string, Outcome>([
  ['pay', 'paid'],
  ['fail', 'failed'],
  ['cancel', 'cancelled'],
  ['pay_and_close', 'paid'],
  ['pay_later', 'paid'],
]);

const BUTTONS = `The field press must be one of ${[...PRESSES.keys()].join(', ')}.`;

export function createCustomer({ ledger, callbacks, providers, payLater }: CustomerOptions) {
  /** The contrary outcome, for a forged callback. */
  const contrary = (payment: Payment, outcome: Outcome) =>
    providers[payment.gateway].forgery(payment, outcome === 'paid' ? 'failed' : 'paid');

  const send = (payment: Payment, { outcome }: Attempt, request: CallbackRequest | undefined): void => {
    if (request !== undefined) callbacks.send(request, payment, contrary(payment, outcome));
  };

  return {
    /**
     * Decides as the customer and sends the callback; for gateway_two the browser's return.
     * @throws SimulatorError if the checkout is over
     */
    decide(payment: Payment, outcome: Outcome): void {
      const attempt = ledger.decide(payment, outcome);
      send(payment, attempt, providers[payment.gateway].callback(payment, attempt));
    },

    /**
     * Authorizes with gateway_two as a customer who then closes the tab: no callback is sent.
     * @throws SimulatorError
     */
    authorizeAndLeave(payment: Payment): void {
      if (payment.gateway !== 'gateway_two') throw new SimulatorError('only gateway_two supports it');
      ledger.decide(payment, 'paid');
    },

    /** Pays again and sends the callback. @throws SimulatorError */
    payAgain(first: Payment): void {
      const { payment, attempt } = ledger.payAgain(first);
      send(payment, attempt, providers[payment.gateway].callback(payment, attempt));
    },

    /** Sends a forged callback to the callback address without the secret. Resolves with the response. */
    async forge(payment: Payment, claim: Outcome): Promise<void> {
      const request = providers[payment.gateway].forgery(payment, claim);
      if (request !== undefined) await callbacks.forge(request, payment);
    },

    /** The page at the simulator's root address. */
    lookAround: (): Page => page(200, indexPage(ledger.payments())),

    /** Serves a browser: GET shows the page, POST presses a button. */
    browse({ method, body }: Call, payment: Payment | undefined): Page {
      if (payment === undefined) return page(404, messagePage('Unknown checkout', FORGOTTEN));
      if (method === 'GET') return page(200, checkoutPage(payment));
      const press = new URLSearchParams(body).get('press') ?? '';
      const outcome = PRESSES.get(press);
      if (outcome === undefined) return page(400, messagePage('Unknown button', BUTTONS));
      if (!mayDecide(payment)) {
        return page(
          409,
          messagePage('Nothing has changed', `This payment is ${payment.state}: its checkout is closed.`),
        );
      }
      const action = payment.returnUrls[outcome];
      const back = { status: 303, headers: { ...PAGE_HEADERS, location: action }, html: '' };
      if (press === 'pay_later' && payment.gateway === 'stripe') {
        payLater(payment.ref);
        return back;
      }
      const attempt = ledger.decide(payment, outcome);
      if (payment.gateway === 'stripe') {
        send(payment, attempt, providers.stripe.callback(payment, attempt));
        return outcome === 'failed' ? page(200, checkoutPage(payment)) : back;
      }
      if (payment.gateway === 'gateway_two') {
        if (press === 'pay_and_close') return page(200, checkoutPage(payment, { notice: LEFT }));
        return back;
      }
      const request = providers.gateway_one.callback(payment, attempt);
      send(payment, attempt, request);
      const fields = Object.fromEntries(new URLSearchParams(request?.body));
      return page(200, checkoutPage(payment, { back: { action, fields } }));
    },
  };
}

export function page(status: number, html: string): Page {
  return { status, headers: { ...PAGE_HEADERS, 'content-type': 'text/html; charset=utf-8' }, html };
}
