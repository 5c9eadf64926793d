// A link to the events of an object.
import { linkTo } from '../route.ts';
import { useSignedIn } from '../sign-in-state.ts';

type LinkProps = {
  readonly object: string;
  /** The app or the slot of the object. Without one, limited tokens cannot list its events. */
  readonly scope?: { readonly app?: string; readonly slot?: string };
};

export function EventsLink({ object, scope }: LinkProps) {
  const { may, isLimited } = useSignedIn();
  if (!may('events.listEvents') || (isLimited && scope === undefined)) return null;
  return (
    <a href={linkTo(['events'], { object, ...(isLimited && { app: scope?.app, slot: scope?.slot }) })}>
      Events
    </a>
  );
}
