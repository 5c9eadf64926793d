// What each action on a license gets.
import type { License } from '../../../gen/hub/license/v1/license_pb.ts';
import type { SignedIn } from '../signed-in.ts';

export type LicenseActionProps = {
  readonly who: SignedIn;
  readonly license: License;
  /** Reloads the page. */
  readonly onDone: () => Promise<void>;
};
