// JSON schemas of what `hubctl event listen` prints.
import { id, integer, object, optional, text, type ValueOf } from '../../output/json-schema.ts';

export const LISTENING = object('Listening', {
  forwardTo: text('where events are posted to'),
  secret: optional(text('the secret that signs them: `whsec_` and Base64; missing if --secret gave it')),
});

export const FORWARDED_EVENT = object('ForwardedEvent', {
  eventId: id('evt', 'the event, and the `webhook-id` of the request'),
  type: text('type of the event'),
  status: optional(integer('status of the answer; missing without one')),
  problem: optional(text('why there was no answer')),
  durationMs: integer('milliseconds that the exchange took'),
});
export type ForwardedEventView = ValueOf<typeof FORWARDED_EVENT>;
