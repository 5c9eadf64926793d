// Replays an event to an endpoint that has a delivery of it, or to another one.
import type { Endpoint, Event } from '../../../gen/hub/event/v1/event_pb.ts';
import { Confirm } from '../components/confirm.tsx';
import { DialogForm } from '../forms/dialog-form.tsx';
import { ChoiceField } from '../forms/fields.tsx';
import { useSignedIn } from '../sign-in-state.ts';

type ReplayProps = { readonly event: Event; readonly endpoint: Endpoint };

/** Replays an event to an endpoint that has a delivery of it. */
export function ReplayEvent({ event, endpoint }: ReplayProps) {
  const { hub } = useSignedIn();
  const run = async (): Promise<string> => {
    await hub.events.replayEvent({ eventId: event.eventId, endpointId: endpoint.endpointId });
    return 'The hub delivers the event again.';
  };
  return (
    <Confirm action="Replay" question="Deliver this event again?" run={run}>
      <p class="value">
        The hub posts the event to <b>{endpoint.url}</b> at once, with the same event id. {RETRIES}
      </p>
      <p>A receiver that stores the ids of events can ignore the repetition.</p>
    </Confirm>
  );
}

type OtherProps = {
  readonly event: Event;
  /** Enabled endpoints without a delivery of the event. */
  readonly endpoints: readonly Endpoint[];
};

export function ReplayToOther({ event, endpoints }: OtherProps) {
  const { hub } = useSignedIn();
  return (
    <DialogForm
      action="Replay to another endpoint"
      title="Deliver this event to another endpoint?"
      submitLabel="Replay"
      subject={undefined}
      initial={() => ({ endpointId: endpoints[0]?.endpointId ?? '' })}
      submit={async ({ values }) => {
        await hub.events.replayEvent({ eventId: event.eventId, endpointId: values.endpointId });
        return 'The hub delivers the event to this endpoint.';
      }}
      effect={() => (
        <p>
          The hub posts the event to this endpoint at once, although its types, apps and slots may not include
          it. {RETRIES}
        </p>
      )}
    >
      {(form) => (
        <ChoiceField
          form={form}
          name="endpointId"
          label="Endpoint"
          choices={endpoints.map(({ endpointId, url }) => [endpointId, url] as const)}
        />
      )}
    </DialogForm>
  );
}

const RETRIES = 'If that fails, the hub tries again over three days.';
