// An event of each type, as an endpoint receives it, has the documented schema and resembles its example.
import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect } from 'chai';
import { EXPIRY_EVERY_MS } from '../../../core/license/expiry-events.ts';
import { EVENT_TYPES } from '../../../lib/presentation/event-types.ts';
import { type Payments, startPayments } from '../../support/hub/payment.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../../support/network/webhook-receiver.ts';
import { until } from '../../support/until.ts';
import { addEndpoint, eventClient, RECEIVER_SETTINGS } from './event-scene.ts';
import { makeEveryEvent } from './make-every-event.ts';

const REFERENCE = new URL('../../../docs/reference/', import.meta.url);
const PAGE = readFileSync(new URL('events.md', REFERENCE), 'utf8');
const TYPES = Object.keys(EVENT_TYPES);

// biome-ignore lint/suspicious/noExplicitAny: any JSON, which assertions look at
type Json = any;

/** The body that the reference shows. */
function exampleOf(type: string): Json {
  const [, section = ''] = PAGE.split(`\n## ${type}\n`);
  const [, text = ''] = /```json\n(.*?)```/s.exec(section) ?? [];
  return JSON.parse(text);
}

describe('an event of type', () => {
  let payments: Payments;
  let receiver: WebhookReceiver;
  before(async () => {
    const clock = { aheadMs: 0, now: () => new Date(Date.now() + clock.aheadMs) };
    receiver = await startWebhookReceiver();
    payments = await startPayments({ settings: RECEIVER_SETTINGS, clock: clock.now });
    const events = eventClient(payments.hub);
    const { endpointId } = await addEndpoint(events, receiver.url, { includeKeys: true });
    // The hub looks for licenses that expire every 30 seconds.
    const limitMs = 2 * EXPIRY_EVERY_MS;
    const received = (type: string) =>
      until(() => eventsOf(type).length > 0, `there is an event ${type}`, limitMs);
    await makeEveryEvent({ payments, events, endpointId, url: receiver.url, clock, received });
    for (const type of TYPES) await received(type);
  });
  after(async () => {
    await payments?.stop();
    await receiver.close();
  });

  const eventsOf = (type: string) => receiver.received.filter(({ event }) => event.type === type);

  for (const type of TYPES) {
    it(`${type} has the documented schema, and resembles its example`, () => {
      const validate = validatorOf(type);
      const real = eventsOf(type).map(({ event }) => event as Json);
      const example = exampleOf(type);
      for (const event of [...real, example]) {
        const isValid = validate(event);
        const problem = JSON.stringify(validate.errors);
        expect(isValid, `${problem} in ${JSON.stringify(event)}`).to.equal(true);
      }
      const resembles = real.some(({ data }) => stateOf(data) === stateOf(example.data));
      expect(
        resembles,
        `${stateOf(example.data)} is none of ${real.map(({ data }) => stateOf(data))}`,
      ).to.equal(true);
    });
  }

  it('license.issued contains the key for an endpoint that asks for it', () => {
    expect(eventsOf('license.issued')[0]?.event.data).to.include.keys('licenseKey');
  });
});

/** The documented schema, without members that it does not name. */
function validatorOf(type: string) {
  const file = new URL(`events/${type.replace('.', '/')}.schema.json`, REFERENCE);
  const ajv = new Ajv2020({ allErrors: true });
  addFormats.default(ajv);
  return ajv.compile(closed(JSON.parse(readFileSync(file, 'utf8'))));
}

function closed(schema: Json): Json {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, closed(part)]));
  const isObject = schema.type === 'object' && 'properties' in schema;
  return isObject ? { ...parts, additionalProperties: false } : parts;
}

/** Its state, and which times and reasons of changes it has. */
function stateOf(data: Json): string {
  const marks = Object.keys(data).filter((name) => /^(?!expires|graceEnds).*(At|Reason)$/.test(name));
  return [data.state ?? data.status ?? '', ...marks.sort()].join(' ');
}
