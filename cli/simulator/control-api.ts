// The simulator's own interface, for tests and people: POST /_control/<command> with JSON, from this machine only.
import type { IncomingMessage } from 'node:http';
import { formatAmount } from './amount.ts';
import type { Controls, SimulatedPayment } from './controls.ts';
import { FAULT_KINDS, type Fault, type FaultKind, OPERATIONS } from './faults.ts';
import { type Outcome, SimulatorError } from './ledger.ts';
import type { JsonAnswer } from './provider.ts';

type Input = Readonly<Record<string, unknown>>;

/** Answers 403 to who is elsewhere or a web page, 404 to an unknown command, 409 to what cannot be. */
export async function control(
  controls: Controls,
  { name, request, body }: { name: string; request: IncomingMessage; body: string },
): Promise<JsonAnswer> {
  const trouble = intruder(request);
  if (trouble !== undefined) return failure(403, trouble);
  const command = COMMANDS.get(name);
  if (command === undefined) return failure(404, `there is no ${name}: ${[...COMMANDS.keys()].join(', ')}`);
  try {
    return { status: 200, json: { ok: true, ...asObject(await command(controls, parsed(body))) } };
  } catch (error) {
    if (error instanceof SimulatorError) return failure(409, error.message);
    throw error;
  }
}

const COMMANDS = new Map<string, (controls: Controls, input: Input) => unknown>([
  ['payments', (controls) => ({ payments: controls.payments().map(paymentView) })],
  ['totals', (controls) => ({ totals: texts(controls.totals()) })],
  ['deliveries', (controls) => ({ deliveries: controls.deliveries() })],
  ['pay', (controls, { ref }) => controls.pay(word(ref, 'ref'))],
  ['fail', (controls, { ref }) => controls.fail(word(ref, 'ref'))],
  ['cancel', (controls, { ref }) => controls.cancel(word(ref, 'ref'))],
  ['leave', (controls, { ref }) => controls.authorizeAndLeave(word(ref, 'ref'))],
  ['reverse', (controls, { ref }) => controls.reverse(word(ref, 'ref'))],
  ['pay-all', (controls) => ({ paid: controls.payAll() })],
  ['forge', (controls, { ref, claim }) => controls.forge(word(ref, 'ref'), oneOf(claim, 'claim', CLAIMS))],
  ['idle', (controls) => controls.idle()],
  ['fault', (controls, input) => controls.faults.add(faultOf(input))],
  ['faults', (controls) => ({ events: controls.faults.events() })],
  ['plan', (controls, input) => controls.faults.plan(planOf(input))],
  ['clear', (controls) => controls.faults.clear()],
  [
    'down',
    (controls, { ms, how }) => controls.down(milliseconds(ms, 'ms'), oneOf(how ?? 'dropped', 'how', OUTAGES)),
  ],
  ['latency', (controls, { ms }) => controls.setLatency(milliseconds(ms, 'ms'))],
]);

const CLAIMS: readonly Outcome[] = ['paid', 'failed', 'cancelled'];
const OUTAGES = ['refused', 'dropped'] as const;
const LONGEST_MS = 3_600_000;

/** Web pages can reach this machine too, by a request that needs no leave or by a name that leads here. */
function intruder({ socket, method, headers }: IncomingMessage): string | undefined {
  if (!isLoopback(socket.remoteAddress ?? '')) return 'the control interface is for this machine only';
  const host = (headers.host ?? '').replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  if (!isLoopback(host) && host !== 'localhost')
    return 'the control interface is called by a loopback address';
  if (method === 'POST' && headers['content-type']?.startsWith('application/json')) return undefined;
  return 'the control interface takes POST with content-type application/json';
}

function isLoopback(address: string): boolean {
  return /^(::ffff:)?127\.\d+\.\d+\.\d+$|^::1$/.test(address);
}

/** A payment in JSON, where there are no bigints. */
function paymentView({ amount, createdAt, ...payment }: SimulatedPayment) {
  return {
    ...payment,
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
  return whole(value, name, LONGEST_MS);
}

function whole(value: unknown, name: string, most: number): number {
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > most) {
    throw wrong(name, `a whole number from 0 to ${most}`);
  }
  return value;
}

function wrong(name: string, what: string): SimulatorError {
  return new SimulatorError(`${name} has to be ${what}`);
}

function parsed(body: string): Input {
  try {
    const value: unknown = JSON.parse(body === '' ? '{}' : body);
    if (typeof value === 'object' && value !== null) return { ...value };
  } catch {
    // said below
  }
  throw wrong('the body', 'a JSON object');
}

/** Commands without an answer answer nothing. */
function asObject(value: unknown): object {
  return typeof value === 'object' && value !== null ? value : {};
}

function failure(status: number, error: string): JsonAnswer {
  return { status, json: { ok: false, error } };
}
