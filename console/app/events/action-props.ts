// The properties of the actions on an endpoint.
import type { Endpoint } from '../../../gen/hub/event/v1/event_pb.ts';
import type { SignedIn } from '../signed-in.ts';

export type EndpointActionProps = {
  readonly who: SignedIn;
  readonly endpoint: Endpoint;
  /** Reloads the page. */
  readonly onDone: () => Promise<void>;
};
