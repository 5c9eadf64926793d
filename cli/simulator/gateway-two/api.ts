// gateway_two: a tokenized wallet checkout, where the merchant's execute moves the money.
import { randomBytes } from 'node:crypto';
import { formatAmount } from '../amount.ts';
import type { Fault } from '../faults.ts';
import type { Ledger } from '../ledger.ts';
import type { Outcome, Payment } from '../payment.ts';
import { type Call, type JsonAnswer, type Operation, ok, type Provider } from '../provider.ts';
import { createPayment } from './create.ts';
import {
  BAD_APP_KEY,
  EXPIRED_TOKEN,
  parsed,
  refused,
  SUCCESSFUL,
  TOO_MANY_GRANTS,
  text,
  told,
  UNAUTHORIZED,
} from './messages.ts';
import { refundOperations } from './refunds.ts';
import type { Tokens } from './tokens.ts';

export type WalletAccount = {
  readonly username: string;
  readonly password: string;
  readonly appKey: string;
  readonly appSecret: string;
};

/** Spelling of the payment id in execute and query. */
export type PaymentIdField = 'paymentId' | 'paymentID';

export type GatewayTwoOptions = {
  readonly account: WalletAccount;
  readonly tokens: Tokens;
  readonly ledger: Ledger;
  readonly paymentIdField: PaymentIdField;
  readonly checkoutUrl: (ref: string) => string;
};

export function createGatewayTwo(options: GatewayTwoOptions): Provider {
  const { account, tokens, ledger, paymentIdField, checkoutUrl } = options;

  const grant = ({ headers, body }: Call): JsonAnswer => {
    if (headers['username'] !== account.username || headers['password'] !== account.password)
      return UNAUTHORIZED;
    const { app_key, app_secret } = parsed(body);
    if (app_key !== account.appKey || app_secret !== account.appSecret) return BAD_APP_KEY;
    const granted = tokens.grant();
    if (granted === undefined) return TOO_MANY_GRANTS;
    return ok({
      ...SUCCESSFUL,
      id_token: granted.token,
      token_type: 'Bearer',
      expires_in: granted.expiresIn,
      refresh_token: randomBytes(24).toString('base64url'),
    });
  };

  const guarded = (operation: Operation) => guard(operation, options);

  const find = ({ body }: Call): Payment | undefined => {
    const payment = ledger.byRef(text(parsed(body)[paymentIdField]));
    return payment?.gateway === 'gateway_two' ? payment : undefined;
  };

  const execute = (call: Call): JsonAnswer => {
    const payment = find(call);
    if (payment === undefined) return refused('2002', 'Invalid Payment ID');
    if (ledger.execute(payment)) {
      const { ref, proof, amount, merchantTransactionId } = payment;
      return ok({
        ...SUCCESSFUL,
        paymentID: ref,
        trxID: proof,
        transactionStatus: 'Completed',
        amount: formatAmount(amount),
        currency: amount.currency,
        intent: 'sale',
        merchantInvoiceNumber: merchantTransactionId,
      });
    }
    if (payment.state === 'paid') return refused('2062', 'The payment has already been completed');
    if (payment.state === 'reversed') return refused('2117', 'Payment execution already been called before');
    if (payment.state === 'failed') return refused('2023', 'Insufficient Balance');
    return refused('2056', 'Invalid Payment State');
  };

  const query = (call: Call): JsonAnswer => {
    const payment = find(call);
    return payment === undefined
      ? refused('2002', 'Invalid Payment ID')
      : ok({ ...SUCCESSFUL, ...told(payment) });
  };

  return {
    operations: [
      {
        name: 'gateway_two.grant',
        at: 'POST /token/grant',
        answer: grant,
        faults: { rate_limited_grant: () => TOO_MANY_GRANTS },
      },
      guarded({
        name: 'gateway_two.create',
        at: 'POST /create',
        answer: (call) => createPayment(call, account.username, ledger, checkoutUrl),
      }),
      guarded({ name: 'gateway_two.execute', at: 'POST /execute', find, answer: execute }),
      guarded({ name: 'gateway_two.query', at: 'POST /payment/status', find, answer: query }),
      ...refundOperations(ledger).map(guarded),
    ],
    callback: (payment, { outcome }) => visited(payment, outcome),
    forgery: visited,
  };
}

/**
 * The redirect of the customer's browser to the merchant. It contains no secret, so a forged one looks the
 * same.
 */
function visited({ returnUrls }: Payment, outcome: Outcome) {
  return { method: 'GET', url: returnUrls[outcome] } as const;
}

function tokenOf({ headers }: Call): string {
  return (headers.authorization ?? '').replace(/^Bearer /, '');
}

/** Adds the token check to the responses of an operation. */
function guard(operation: Operation, { tokens, account }: GatewayTwoOptions): Operation {
  const refusal = (call: Call): JsonAnswer | undefined => {
    if (!tokens.isGood(tokenOf(call))) return EXPIRED_TOKEN;
    return call.headers['x-app-key'] === account.appKey ? undefined : BAD_APP_KEY;
  };
  const faults = Object.entries(operation.faults ?? {}).map(
    ([kind, answer]) => [kind, (call: Call, fault: Fault) => refusal(call) ?? answer(call, fault)] as const,
  );
  return {
    ...operation,
    answer: (call) => refusal(call) ?? operation.answer(call),
    faults: {
      ...Object.fromEntries(faults),
      expired_token: (call) => {
        tokens.expire(tokenOf(call));
        return EXPIRED_TOKEN;
      },
    },
  };
}
