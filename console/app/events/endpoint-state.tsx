// The state of an endpoint as a badge: enabled, failing, or disabled.
import type { Endpoint } from '../../../gen/hub/event/v1/event_pb.ts';
import { Badge } from '../components/state-badges.tsx';
import { MomentAfter } from '../components/times.tsx';

export function EndpointBadge({ endpoint: { disabledAt, failingSince } }: { readonly endpoint: Endpoint }) {
  if (disabledAt !== undefined) return <Badge tone="bad">disabled</Badge>;
  return failingSince === undefined ? <Badge>enabled</Badge> : <Badge>failing</Badge>;
}

/** The badge, its time and its reason. */
export function EndpointState({ endpoint }: { readonly endpoint: Endpoint }) {
  const { disabledAt, disabledReason, failingSince } = endpoint;
  return (
    <>
      <EndpointBadge endpoint={endpoint} />
      <MomentAfter text=" since " at={disabledAt ?? failingSince} />
      {disabledReason !== '' && <div class="value muted">{disabledReason}</div>}
    </>
  );
}

/** `license.*, seat.activated` */
export function eventsText({ events }: Pick<Endpoint, 'events'>): string {
  return events.includes('*') ? 'all events' : events.join(', ');
}

/** `apps photo-lab, demo; slots store` */
export function scopeText({ apps, slots }: Pick<Endpoint, 'apps' | 'slots'>): string {
  const parts = [
    apps.length > 0 && `apps ${apps.join(', ')}`,
    slots.length > 0 && `slots ${slots.join(', ')}`,
  ];
  return parts.filter(Boolean).join('; ') || 'all';
}
