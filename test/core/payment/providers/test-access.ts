// A driver's environment for tests: a slot at a scripted provider, and the recorded calls.
import { systemClock } from '../../../../core/clock.ts';
import type { Environment } from '../../../../core/payment/entities.ts';
import type {
  ExpectedPayment,
  ProviderAccess,
  SettledPayment,
  TokenCache,
  VerificationStep,
} from '../../../../core/payment/providers/driver.ts';
import {
  type ClosableProviderHttp,
  createProviderHttp,
} from '../../../../core/payment/slots/provider-connections.ts';
import { Secret } from '../../../../core/secret.ts';

export type TestAccess = ProviderAccess & {
  readonly http: ClosableProviderHttp;
  readonly steps: VerificationStep[];
};

export type TestAccessOptions = {
  readonly baseUrl: string;
  readonly credentials: Readonly<Record<string, string>>;
  readonly options?: Readonly<Record<string, string>>;
  readonly environment?: Environment;
  readonly timeoutMs?: number;
};

export function createTestAccess(options: TestAccessOptions): TestAccess {
  const { baseUrl, credentials, environment = 'sandbox', timeoutMs = 5_000 } = options;
  const steps: VerificationStep[] = [];
  return {
    slotId: '0198c0de-0000-7000-8000-000000000001',
    baseUrl,
    credentials: new Secret(credentials),
    options: options.options ?? {},
    http: createProviderHttp({ baseUrl, environment, productionUrls: [], timeoutMs }),
    tokens: createMemoryTokens(),
    clock: systemClock,
    observe: (step) => steps.push(step),
    steps,
  };
}

/** One token, kept until it is rejected. */
function createMemoryTokens(): TokenCache {
  let current: string | undefined;
  return {
    async get(grant, rejected) {
      if (current === undefined || current === rejected) current = (await grant()).token;
      return current;
    },
  };
}

/** About a session of 100.00 BDT. */
export function expectedPayment(changes: Partial<ExpectedPayment> = {}): ExpectedPayment {
  return {
    merchantTransactionId: '01K7TRANSACTION',
    providerPaymentId: 'PAY-1',
    amount: { minor: 10_000n, currency: 'BDT' },
    isPaid: false,
    ...changes,
  };
}

/** The payment of 100.00 BDT of both sample answers. */
export function settledPayment(changes: Partial<SettledPayment> = {}): SettledPayment {
  return {
    merchantTransactionId: '01K7TRANSACTION',
    providerPaymentId: 'PAY-1',
    gatewayTransactionId: 'BKL30A9ULZ',
    amount: { minor: 10_000n, currency: 'BDT' },
    ...changes,
  };
}

/** What a promise rejects with. */
export async function rejectionOf(work: Promise<unknown>): Promise<Error> {
  const outcome = await work.then(
    (value) => new Error(`nothing was thrown; the result is ${JSON.stringify(value)}`),
    (error: unknown) => error,
  );
  if (outcome instanceof Error) return outcome;
  throw new Error(`not an Error was thrown: ${String(outcome)}`);
}
