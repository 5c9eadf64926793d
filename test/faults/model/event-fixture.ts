// Hubs, fickle receivers of webhooks with an endpoint each, and the objects whose changes they are told.
import { parseId } from '../../../core/ids.ts';
import {
  type ReceivedWebhook,
  startWebhookReceiver,
  type WebhookReceiver,
} from '../../support/network/webhook-receiver.ts';
import type { Cluster, HubClients } from '../scenes/cluster.ts';

export const MOODS = ['ok', 'ok', 'error', 'hang', 'late', 'reset', 'redirect', 'gone'] as const;
export type Mood = (typeof MOODS)[number];

const LATE_MS = 300;

/** A receiver whose endpoint is created anew from time to time. */
export type Subscriber = {
  readonly receiver: WebhookReceiver;
  mood: Mood;
  /** Of the current endpoint; undefined while it is not known whether there is one. */
  endpointId: string | undefined;
  /** All secrets of its endpoints, by the path of their URL. */
  readonly secrets: Map<string, string[]>;
  /** The path of the current endpoint. */
  path: string;
};

export type License = { readonly licenseId: string; readonly licenseKey: string };

export type EventFixture = {
  readonly cluster: Cluster;
  readonly app: string;
  /** The first one keeps its endpoint for all events; only its receiver is fickle. */
  readonly subscribers: readonly [Subscriber, ...Subscriber[]];
  readonly licenses: License[];
  readonly customerIds: string[];
  readonly sessionIds: string[];
  /** Work that continues during later steps. It may fail: hubs are killed. */
  readonly pending: Promise<unknown>[];
};

export async function createSubscriber(): Promise<Subscriber> {
  const receiver = await startWebhookReceiver();
  const subscriber: Subscriber = {
    receiver,
    mood: 'ok',
    endpointId: undefined,
    secrets: new Map(),
    path: '',
  };
  receiver.answer = (_, response) => {
    switch (subscriber.mood) {
      case 'ok':
        return 204;
      case 'error':
        return 500;
      case 'hang':
        return undefined;
      case 'late':
        setTimeout(() => response.writeHead(204).end(), LATE_MS);
        return undefined;
      case 'reset':
        response.destroy();
        return undefined;
      case 'redirect':
        response.setHeader('location', receiver.url);
        return 307;
      case 'gone':
        return 410;
    }
  };
  return subscriber;
}

let paths = 0;

/** Creates the subscriber's endpoint, unless its hub is killed meanwhile. */
export async function subscribe(
  { events }: HubClients,
  subscriber: Subscriber,
  patterns: readonly string[],
): Promise<void> {
  const path = `/hook/${++paths}`;
  subscriber.path = path;
  const url = new URL(path, subscriber.receiver.url).href;
  const { endpoint, secret } = await events.createEndpoint({ settings: { url, events: [...patterns] } });
  subscriber.secrets.set(path, [secret]);
  subscriber.endpointId = endpoint?.endpointId;
}

/** Removes endpoints that no subscriber knows of: the hub was killed before it answered. */
export async function removeStrays({ cluster, subscribers }: EventFixture): Promise<void> {
  const { events } = await someHub(cluster);
  const known = new Set(subscribers.map(({ endpointId }) => endpointId));
  const { endpoints } = await events.listEndpoints({});
  for (const { endpointId } of endpoints) {
    if (!known.has(endpointId)) await events.removeEndpoint({ endpointId });
  }
}

/** A hub that runs. */
export async function someHub(cluster: Cluster, turn = 0): Promise<HubClients> {
  for (;;) {
    const hub = cluster.hub(turn % 2) ?? cluster.hub((turn + 1) % 2);
    if (hub !== undefined) return hub;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** What a receiver got from endpoints whose secret it knows. */
export function receivedBy({ receiver, secrets }: Subscriber): readonly ReceivedWebhook[] {
  return receiver.received.filter(({ path }) => secrets.has(path));
}

export function uuidOf(id: string): string {
  const prefix = id.slice(0, id.indexOf('_'));
  return parseId(prefix as 'lic', id) ?? ''; // any prefix
}

export function pick<T>(list: readonly T[], at: number): T {
  const picked = list[at % list.length];
  if (picked === undefined) throw new Error('the list is empty');
  return picked;
}
