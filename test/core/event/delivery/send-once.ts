// A program of a test: sends a webhook to URL, and the same by fetch, and prints both results as JSON.
import { createAddressPolicy } from '../../../../core/event/delivery/address-policy.ts';
import { createWebhookSender } from '../../../../core/event/delivery/send-webhook.ts';

const { URL: url = '' } = process.env;
const sender = createWebhookSender({ policy: createAddressPolicy(['127.0.0.0/8']) });
const sent = await sender.send({ url, headers: {}, body: '{}' });
const fetched = await fetch(url).then(
  (response) => response.text(),
  () => 'failed',
);
process.stdout.write(JSON.stringify({ sent, fetched }));
await sender.close();
