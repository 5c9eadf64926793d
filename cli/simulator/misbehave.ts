// Sends the provider's response: correct, late, malformed, false, or not at all.
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { FaultKind } from './faults.ts';
import type { JsonAnswer } from './provider.ts';

export type Misbehaviour = {
  readonly response: ServerResponse;
  /** Processes the request and returns the response. */
  readonly perform: () => JsonAnswer;
  readonly elsewhere: string;
};

/** Maximum time to hold a request without a response. */
const HANG_MS = 60_000;
const HUGE_BYTES = 100 * 1024 * 1024;

export async function answerWith(
  fault: FaultKind | undefined,
  { response, perform, elsewhere }: Misbehaviour,
): Promise<void> {
  switch (fault) {
    case 'timeout_before':
      return hang(response);
    case 'timeout_after':
      perform();
      return hang(response);
    case 'error_500':
      return sendJson(response, { status: 500, json: { message: 'Internal server error' } });
    case 'html':
      response
        .writeHead(200, { 'content-type': 'text/html' })
        .end('<!doctype html><title>Maintenance</title><h1>Back soon</h1>');
      return;
    case 'redirect':
      response.writeHead(302, { location: elsewhere }).end();
      return;
    case 'dropped':
      response.destroy();
      return;
    case 'empty':
      perform();
      response.writeHead(200, { 'content-type': JSON_TYPE }).end();
      return;
    case 'truncated':
      return sendHalf(response, JSON.stringify(perform().json));
    case 'huge':
      perform();
      return sendHuge(response);
    case 'wrong_amount':
    case 'wrong_currency':
    case 'wrong_transaction': {
      const { status, json } = perform();
      return sendJson(response, { status, json: withWrongValue(fault, json) });
    }
    case 'risky': {
      const { status, json } = perform();
      return sendJson(response, { status, json: changed(json, (name, value) => RISKY[name] ?? value) });
    }
    default:
      return sendJson(response, perform());
  }
}

const JSON_TYPE = 'application/json;charset=UTF-8';

export function sendJson(response: ServerResponse, { status, json }: JsonAnswer): void {
  response.writeHead(status, { 'content-type': JSON_TYPE }).end(JSON.stringify(json));
}

function hang(response: ServerResponse): void {
  const timer = setTimeout(() => response.destroy(), HANG_MS);
  response.once('close', () => clearTimeout(timer));
}

function sendHalf(response: ServerResponse, body: string): void {
  const bytes = Buffer.from(body);
  response.writeHead(200, { 'content-type': JSON_TYPE, 'content-length': bytes.length });
  response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
}

/** Well-formed JSON of 100 MB, sent as fast as it is read. */
async function sendHuge(response: ServerResponse): Promise<void> {
  response.writeHead(200, { 'content-type': JSON_TYPE });
  await pipeline(Readable.from(hugeJson()), response).catch(() => undefined); // the client may close the connection
}

function* hugeJson(): Generator<Buffer> {
  const chunk = Buffer.alloc(1024 * 1024, 'x');
  yield Buffer.from('{"padding":"');
  for (let sent = 0; sent < HUGE_BYTES; sent += chunk.length) yield chunk;
  yield Buffer.from('"}');
}

const FIELDS_OF = {
  wrong_amount: ['amount', 'currency_amount', 'refundAmount', 'originalTrxAmount', 'amount_total'],
  wrong_currency: ['currency', 'currency_type'],
  wrong_transaction: ['tran_id', 'merchantInvoiceNumber', 'merchantInvoice', 'originalTrxId'],
} as const;

type Json = Readonly<Record<string, unknown>>;

/** The response with another value of each member, also in the objects of its lists. */
function changed(json: Json, change: (name: string, value: unknown) => unknown): Json {
  const members = Object.entries(json).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.map((each) => changed(each, change)) : change(name, value),
  ]);
  return Object.fromEntries(members);
}

/** The response with one false value wherever it occurs. */
function withWrongValue(fault: keyof typeof FIELDS_OF, json: Json): Json {
  const fields: readonly string[] = FIELDS_OF[fault];
  return changed(json, (name, value) => {
    if (!fields.includes(name)) return value;
    if (typeof value === 'number') return Number(`1${value}`);
    return typeof value === 'string' ? otherThan(fault, value) : value;
  });
}

/** The highest risk rating. */
const RISKY: Json = { risk_level: '1', risk_title: 'High Risk' };

function otherThan(fault: keyof typeof FIELDS_OF, value: string): string {
  if (fault === 'wrong_amount') return `1${value}`;
  if (fault === 'wrong_currency') return value === 'EUR' ? 'USD' : 'EUR';
  return `X${value.slice(1)}X`.slice(0, 30);
}
