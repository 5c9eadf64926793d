// The simulator's control API for tests and people: POST /_control/<command> with JSON; GET /_control lists
// the commands. Serves this machine only.
import type { IncomingMessage } from 'node:http';
import { formatAmount } from './amount.ts';
import type { Controls, SimulatedPayment, SimulatedRefund } from './controls.ts';
import { FAULT_KINDS, type Fault, type FaultKind, OPERATIONS, POSSIBLE } from './faults.ts';
import { type Outcome, SimulatorError } from './payment.ts';
import type { JsonAnswer } from './provider.ts';
import { statementOf } from './statement.ts';

type Input = Readonly<Record<string, unknown>>;

/**
 * Answers 403 to other machines and web pages, 404 to an unknown command, 409 to a call that the payment's
 * state forbids.
 */
export async function control(
  controls: Controls,
  { name, request, body }: { name: string; request: IncomingMessage; body: string },
): Promise<JsonAnswer> {
  const trouble = intruder(request);
  if (trouble !== undefined) return failure(403, trouble);
  if (request.method === 'GET' && name === '') return contents();
  const command = COMMANDS.get(name);
  if (command === undefined) return failure(404, `there is no ${name}: ${[...COMMANDS.keys()].join(', ')}`);
  try {
    return { status: 200, json: { ok: true, ...asObject(await command.run(controls, parsed(body))) } };
  } catch (error) {
    if (error instanceof SimulatorError) return failure(409, error.message);
    throw error;
  }
}

type Command = {
  /** Its JSON members. */
  readonly takes: string;
  readonly does: string;
  readonly run: (controls: Controls, input: Input) => unknown;
};

/** `ref` names a payment by the provider's or the merchant's id. */
export const COMMANDS: ReadonlyMap<string, Command> = new Map([
  command('payments', '', 'lists the payments that merchants created', (controls) => ({
    payments: controls.payments().map(withTexts),
  })),
  command(
    'totals',
    '',
    'sums the payments that are not reversed, less their refunds and lost disputes, in minor units by currency',
    (controls) => ({ totals: texts(controls.totals()) }),
  ),
  command('refunds', '', 'lists the refunds of all payments', (controls) => ({
    refunds: controls.refunds().map(withTexts),
  })),
  command(
    'statement',
    'gateway',
    "the provider's statement of its payments, as CSV in the member `csv` of the response",
    (controls, { gateway }) => ({ csv: statementOf(controls, oneOf(gateway, 'gateway', GATEWAYS)) }),
  ),
  command('deliveries', '', 'lists the attempts to deliver callbacks', (controls) => ({
    deliveries: controls.deliveries(),
  })),
  ofPayment('pay', 'the customer pays, or authorizes with gateway_two', ({ pay }, ref) => pay(ref)),
  ofPayment('fail', 'the payment is declined', ({ fail }, ref) => fail(ref)),
  ofPayment('cancel', 'the customer cancels', ({ cancel }, ref) => cancel(ref)),
  ofPayment('leave', 'the customer authorizes with gateway_two and closes the tab', (controls, ref) =>
    controls.authorizeAndLeave(ref),
  ),
  ofPayment('pay-again', 'the customer pays a second time', ({ payAgain }, ref) => payAgain(ref)),
  ofPayment('reverse', 'the provider reverses the payment', ({ reverse }, ref) => reverse(ref)),
  command(
    'refund',
    'ref, amount?',
    'somebody refunds the payment in the merchant panel, by default the rest of it',
    (controls, { ref, amount }) => ({
      refund: withTexts(
        controls.refund(word(ref, 'ref'), amount === undefined ? amount : word(amount, 'amount')),
      ),
    }),
  ),
  command('finish-refunds', '', 'ends the refunds in progress now', (controls) => ({
    finished: controls.finishRefunds(),
  })),
  ofPayment('stand-again', 'the provider restores a reversed payment', ({ standAgain }, ref) =>
    standAgain(ref),
  ),
  ofPayment('pay-later', 'the customer pays with Stripe, and a bank settles it later', ({ stripe }, ref) =>
    stripe.payLater(ref),
  ),
  ofPayment('settle', 'the bank settles such a payment', ({ stripe }, ref) => stripe.settle(ref)),
  ofPayment('decline', 'the bank does not settle such a payment', ({ stripe }, ref) => stripe.decline(ref)),
  ofPayment('expire', 'a checkout session of Stripe expires', ({ stripe }, ref) => stripe.expire(ref)),
  command(
    'buy',
    'price, amount, currency, email, name?',
    'a customer buys by a payment link of Stripe',
    (controls, { price, amount, currency, email, name }) => ({
      ref: controls.stripe.buy({
        price: word(price, 'price'),
        amount: word(amount, 'amount'),
        currency: word(currency, 'currency'),
        email: word(email, 'email'),
        ...(name !== undefined && { name: word(name, 'name') }),
      }),
    }),
  ),
  ofPayment(
    'dispute',
    'the bank of a customer of Stripe demands back what was not refunded',
    ({ stripe }, ref) => ({ dispute: stripe.dispute(ref) }),
  ),
  command('close-dispute', 'ref, decision', 'the bank decides the dispute', (controls, { ref, decision }) =>
    controls.stripe.closeDispute(word(ref, 'ref'), oneOf(decision, 'decision', ['won', 'lost'])),
  ),
  command('pay-all', '', 'pays all open payments', (controls) => ({ paid: controls.payAll() })),
  command('forge', 'ref, claim', 'sends a forged callback, without a secret', (controls, { ref, claim }) =>
    controls.forge(word(ref, 'ref'), oneOf(claim, 'claim', CLAIMS)),
  ),
  command('idle', '', 'waits until no callback is in progress', (controls) => controls.idle()),
  command(
    'fault',
    'kind, operation?, ref?, times?, delayMs?',
    'injects a fault into the next matching call',
    (controls, input) => controls.faults.add(faultOf(input)),
  ),
  command('faults', '', 'lists the injected faults', (controls) => ({ events: controls.faults.events() })),
  command('plan', 'seed, rate, kinds?', 'injects random faults from now on', (controls, input) =>
    controls.faults.plan(planOf(input)),
  ),
  command('clear', '', 'stops all faults', (controls) => controls.faults.clear()),
  command('down', 'ms, how?', 'makes the providers unreachable for a time', (controls, { ms, how }) =>
    controls.down(milliseconds(ms, 'ms'), oneOf(how ?? 'dropped', 'how', OUTAGES)),
  ),
  command('latency', 'ms', 'delays every response', (controls, { ms }) =>
    controls.setLatency(milliseconds(ms, 'ms')),
  ),
]);

function command(name: string, takes: string, does: string, run: Command['run']): [string, Command] {
  return [name, { takes, does, run }];
}

/** A command that names a payment and nothing else. */
function ofPayment(name: string, does: string, run: (controls: Controls, ref: string) => unknown) {
  return command(name, 'ref', does, (controls, { ref }) => run(controls, word(ref, 'ref')));
}

/** Lists the commands, for GET. */
function contents(): JsonAnswer {
  const commands = [...COMMANDS].map(([name, { takes, does }]) => [
    `POST ${name}`,
    takes ? `{${takes}}: ${does}` : does,
  ]);
  return {
    status: 200,
    json: {
      ok: true,
      commands: Object.fromEntries(commands),
      faults: POSSIBLE,
      claims: CLAIMS,
      outages: OUTAGES,
    },
  };
}

const GATEWAYS = ['gateway_one', 'gateway_two', 'stripe'] as const;
const CLAIMS: readonly Outcome[] = ['paid', 'failed', 'cancelled'];
const OUTAGES = ['refused', 'dropped'] as const;
const MAX_DURATION_MS = 3_600_000;

/** Web pages can reach this machine too, with a simple cross-site request or a DNS name that points here. */
function intruder({ socket, method, headers, url = '' }: IncomingMessage): string | undefined {
  if (!isLoopback(socket.remoteAddress ?? ''))
    return 'the control interface accepts only calls from this machine';
  const host = (headers.host ?? '').replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  if (!isLoopback(host) && host !== 'localhost')
    return 'the control interface must be called by a loopback address';
  if (method === 'GET' && /^\/_control\/?$/.test(url)) return undefined;
  if (method === 'POST' && headers['content-type']?.startsWith('application/json')) return undefined;
  return 'the control interface accepts only POST with content-type application/json';
}

function isLoopback(address: string): boolean {
  return /^(::ffff:)?127\.\d+\.\d+\.\d+$|^::1$/.test(address);
}

/** A payment or refund as JSON, which has no bigint. */
function withTexts({ amount, createdAt, ...item }: SimulatedPayment | SimulatedRefund) {
  return {
    ...item,
    amount: formatAmount(amount),
    amountMinor: `${amount.minor}`,
    currency: amount.currency,
    createdAt: createdAt.toISOString(),
  };
}

function texts(totals: Readonly<Record<string, bigint>>): Record<string, string> {
  return Object.fromEntries(Object.entries(totals).map(([currency, minor]) => [currency, `${minor}`]));
}

function faultOf({ kind, operation, ref, times, delayMs }: Input): Fault {
  return {
    kind: oneOf(kind, 'kind', FAULT_KINDS),
    ...(operation !== undefined && { operation: oneOf(operation, 'operation', OPERATIONS) }),
    ...(ref !== undefined && { ref: word(ref, 'ref') }),
    ...(times !== undefined && { times: whole(times, 'times', 1_000_000) }),
    ...(delayMs !== undefined && { delayMs: milliseconds(delayMs, 'delayMs') }),
  };
}

function planOf({ seed, rate, kinds }: Input) {
  if (typeof rate !== 'number' || !(rate >= 0 && rate <= 1)) throw wrong('rate', 'a number from 0 to 1');
  const named: readonly FaultKind[] | undefined = Array.isArray(kinds)
    ? kinds.map((kind) => oneOf(kind, 'kinds', FAULT_KINDS))
    : undefined;
  return { seed: whole(seed, 'seed', 2 ** 31), rate, ...(named && { kinds: named }) };
}

function oneOf<T extends string>(value: unknown, name: string, words: readonly T[]): T {
  const found = words.find((each) => each === value);
  if (found === undefined) throw wrong(name, `one of ${words.join(', ')}`);
  return found;
}

function word(value: unknown, name: string): string {
  if (typeof value !== 'string' || value === '') throw wrong(name, 'a text');
  return value;
}

function milliseconds(value: unknown, name: string): number {
  return whole(value, name, MAX_DURATION_MS);
}

function whole(value: unknown, name: string, most: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > most) {
    throw wrong(name, `a whole number from 0 to ${most}`);
  }
  return value;
}

function wrong(name: string, what: string): SimulatorError {
  return new SimulatorError(`${name} must be ${what}`);
}

function parsed(body: string): Input {
  try {
    const value: unknown = JSON.parse(body === '' ? '{}' : body);
    if (typeof value === 'object' && value !== null) return { ...value };
  } catch {
    // an error below explains it
  }
  throw wrong('the body', 'a JSON object');
}

/** Commands without a result return an empty object. */
function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {};
}

function failure(status: number, error: string): JsonAnswer {
  return { status, json: { ok: false, error } };
}
