// The actions on an endpoint that the role of the caller and the state of the endpoint allow.
import { DeliveryState, type Endpoint } from '../../../gen/hub/event/v1/event_pb.ts';
import { DELIVERY_STATES } from '../../../lib/presentation/enum-names.ts';
import { Confirm } from '../components/confirm.tsx';
import { StateBadge } from '../components/state-badges.tsx';
import { linkTo } from '../route.ts';
import { useSignedIn } from '../sign-in-state.ts';
import { EditEndpoint } from './endpoint-form.tsx';
import { RotateSecret } from './endpoint-secret.tsx';

type EndpointProps = { readonly endpoint: Endpoint };

export function EndpointActions(props: EndpointProps) {
  const { may } = useSignedIn();
  const isDisabled = props.endpoint.disabledAt !== undefined;
  return (
    <>
      {may('events.testEndpoint') && <Test {...props} />}
      {may('events.updateEndpoint') && <EditEndpoint {...props} />}
      {may('events.rotateEndpointSecret') && <RotateSecret {...props} />}
      {may('events.disableEndpoint') && !isDisabled && <Disable {...props} />}
      {may('events.enableEndpoint') && isDisabled && <Enable {...props} />}
      {may('events.removeEndpoint') && <Remove {...props} />}
    </>
  );
}

function Test({ endpoint: { endpointId, url } }: EndpointProps) {
  const { hub } = useSignedIn();
  const test = async () => {
    const { delivery } = await hub.events.testEndpoint({ endpointId });
    if (delivery === undefined) throw new Error('the hub returned no delivery');
    const { state, responseStatus, responseBody, problem, durationMs } = delivery;
    const isAnswered = responseStatus > 0;
    return {
      announce: state === DeliveryState.DELIVERED ? 'The test succeeded.' : 'The test failed.',
      show: (
        <>
          <p>
            <StateBadge of={DELIVERY_STATES} state={state} />{' '}
            {isAnswered ? `The endpoint answered with status ${responseStatus}` : problem} after {durationMs}{' '}
            ms.
          </p>
          {isAnswered &&
            (responseBody === '' ? <p class="muted">The answer is empty.</p> : <pre>{responseBody}</pre>)}
        </>
      ),
    };
  };
  return (
    <Confirm action="Test" question="Send a test event?" run={test}>
      <p class="value">
        The hub posts one event of type <code>endpoint.test</code> to <b>{url}</b> at once and shows the
        answer. A failed test is not repeated, and does not count as a failure of the endpoint.
      </p>
    </Confirm>
  );
}

function Disable({ endpoint: { endpointId } }: EndpointProps) {
  const { hub } = useSignedIn();
  const disable = async (reason: string): Promise<string> => {
    await hub.events.disableEndpoint({ endpointId, reason });
    return 'The endpoint is disabled.';
  };
  return (
    <Confirm action="Disable" question="Disable this endpoint?" asksReason dangerous run={disable}>
      <p>
        The hub stops all deliveries to it. Pending deliveries stay, and continue when you enable it. The hub
        does not deliver events of changes in the meantime; you can replay them.
      </p>
    </Confirm>
  );
}

function Enable({ endpoint: { endpointId } }: EndpointProps) {
  const { hub } = useSignedIn();
  const enable = async (): Promise<string> => {
    await hub.events.enableEndpoint({ endpointId });
    return 'The endpoint is enabled.';
  };
  return (
    <Confirm action="Enable" question="Enable this endpoint?" run={enable}>
      <p>
        Pending deliveries continue, and the endpoint receives the events of later changes. The hub does not
        deliver events of changes that were made while it was disabled; you can replay them.
      </p>
    </Confirm>
  );
}

function Remove({ endpoint: { endpointId, url } }: EndpointProps) {
  const { hub } = useSignedIn();
  const remove = async () => {
    await hub.events.removeEndpoint({ endpointId });
    return { announce: 'The endpoint is removed.', goTo: linkTo(['endpoints']) };
  };
  return (
    <Confirm action="Remove" question="Remove this endpoint?" word="REMOVE" dangerous run={remove}>
      <p class="value">
        <strong>This cannot be undone.</strong> The hub deletes the secret and the pending deliveries to{' '}
        <b>{url}</b>. To stop deliveries for a while, disable the endpoint.
      </p>
    </Confirm>
  );
}
