// What the customer can do: look at the checkout page and press its buttons, in a browser or without one.
import type { Callbacks } from './callbacks.ts';
import { checkoutPage } from './checkout-page.ts';
import { indexPage } from './index-page.ts';
import {
  type Attempt,
  type Gateway,
  type Ledger,
  mayDecide,
  type Outcome,
  type Payment,
  SimulatorError,
} from './ledger.ts';
import { messagePage, PAGE_HEADERS } from './page.ts';
import type { Call, CallbackRequest, Provider } from './provider.ts';

export type CustomerOptions = {
  readonly ledger: Ledger;
  readonly callbacks: Callbacks;
  readonly providers: Readonly<Record<Gateway, Provider>>;
};

export type Customer = ReturnType<typeof createCustomer>;

/** What a browser is answered. */
export type Page = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly html: string;
};

const FORGOTTEN = 'The simulator keeps payments in memory: it may have been restarted.';
const LEFT = 'Close this tab now: the merchant has not been told, and has to find out.';

/** The buttons of the page: what each does. */
const PRESSES = new Map<string, Outcome>([
  ['pay', 'paid'],
  ['fail', 'failed'],
  ['cancel', 'cancelled'],
  ['pay_and_close', 'paid'],
]);

const BUTTONS = `The field press has to be one of ${[...PRESSES.keys()].join(', ')}.`;

export function createCustomer({ ledger, callbacks, providers }: CustomerOptions) {
  /** A callback the other way round: what somebody would send who wants the hub to believe the contrary. */
  const contrary = (payment: Payment, outcome: Outcome) =>
    providers[payment.gateway].forgery(payment, outcome === 'paid' ? 'failed' : 'paid');

  const send = (payment: Payment, { outcome }: Attempt, request: CallbackRequest | undefined): void => {
    if (request !== undefined) callbacks.send(request, payment, contrary(payment, outcome));
  };

  return {
    /**
     * The customer decides, and the callback goes on its way; for gateway_two this is the browser that returns.
     *
     * @throws SimulatorError if the checkout is over
     */
    decide(payment: Payment, outcome: Outcome): void {
      const attempt = ledger.decide(payment, outcome);
      send(payment, attempt, providers[payment.gateway].callback(payment, attempt));
    },

    /** The customer authorizes with gateway_two and closes the tab: nobody is told. @throws SimulatorError */
    authorizeAndLeave(payment: Payment): void {
      if (payment.gateway !== 'gateway_two')
        throw new SimulatorError('only gateway_two leaves it to the customer');
      ledger.decide(payment, 'paid');
    },

    /** The customer pays a second time, and the callback of that goes on its way. @throws SimulatorError */
    payAgain(first: Payment): void {
      const { payment, attempt } = ledger.payAgain(first);
      send(payment, attempt, providers[payment.gateway].callback(payment, attempt));
    },

    /** Sends what somebody could send who knows the callback address but no secret. Resolves once it was answered. */
    async forge(payment: Payment, claim: Outcome): Promise<void> {
      const request = providers[payment.gateway].forgery(payment, claim);
      if (request !== undefined) await callbacks.forge(request, payment);
    },

    /** What a browser gets that was told the simulator's address only. */
    lookAround: (): Page => page(200, indexPage(ledger.payments())),

    /** What a browser gets: GET shows the page, POST is a press of a button. */
    browse({ method, body }: Call, payment: Payment | undefined): Page {
      if (payment === undefined) return page(404, messagePage('No such checkout', FORGOTTEN));
      if (method === 'GET') return page(200, checkoutPage(payment));
      const press = new URLSearchParams(body).get('press') ?? '';
      const outcome = PRESSES.get(press);
      if (outcome === undefined) return page(400, messagePage('No such button', BUTTONS));
      if (!mayDecide(payment)) {
        return page(
          409,
          messagePage('Nothing has changed', `This payment is ${payment.state}: its checkout is over.`),
        );
      }
      const attempt = ledger.decide(payment, outcome);
      const action = payment.returnUrls[outcome];
      if (payment.gateway === 'gateway_two') {
        if (press === 'pay_and_close') return page(200, checkoutPage(payment, { notice: LEFT }));
        return { status: 303, headers: { ...PAGE_HEADERS, location: action }, html: '' };
      }
      const request = providers.gateway_one.callback(payment, attempt);
      send(payment, attempt, request);
      const fields = Object.fromEntries(new URLSearchParams(request?.body));
      return page(200, checkoutPage(payment, { back: { action, fields } }));
    },
  };
}

function page(status: number, html: string): Page {
  return { status, headers: { ...PAGE_HEADERS, 'content-type': 'text/html; charset=utf-8' }, html };
}
