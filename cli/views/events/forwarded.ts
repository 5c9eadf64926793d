// JSON schemas of what `hubctl event listen` prints.
import * as json from '../schema.ts';

export const LISTENING = json.object('Listening', {
  forwardTo: json.text('where events are posted to'),
  secret: json.optional(
    json.text('the secret that signs them: `whsec_` and Base64; missing if --secret gave it'),
  ),
});

export const FORWARDED_EVENT = json.object('ForwardedEvent', {
  eventId: json.id('evt', 'the event, and the `webhook-id` of the request'),
  type: json.text('type of the event'),
  status: json.optional(json.integer('status of the answer; missing without one')),
  problem: json.optional(json.text('why there was no answer')),
  durationMs: json.integer('milliseconds that the exchange took'),
});
export type ForwardedEventView = json.ValueOf<typeof FORWARDED_EVENT>;
