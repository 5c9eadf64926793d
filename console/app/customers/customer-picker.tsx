// Finds a customer as one types, and chooses one of the matches.
import { useId, useState } from 'preact/hooks';
import type { Customer } from '../../../gen/hub/customer/v1/customer_pb.ts';
import { omitEmpty } from '../../../lib/presentation/omit-empty.ts';
import { describedBy, ErrorText } from '../forms/fields.tsx';
import type { Form } from '../forms/form-state.ts';
import { useDebounced, useKept } from '../forms/search.ts';
import { useLive } from '../poll-hub.ts';
import { useSignedIn } from '../sign-in-state.ts';

const SHOWN = 8;

/** The values of the picker in a form. The name and the contact of the choice keep it visible during another search. */
export const NO_PICK = { customerId: '', pickedName: '', pickedContact: '' };

type PickedCustomer = Readonly<typeof NO_PICK>;

export type PickerProps = {
  readonly form: Form<keyof PickedCustomer>;
  /** The app of the license. A token limited to apps finds only customers of one. */
  readonly app: string;
};

export function CustomerPicker({ form, app }: PickerProps) {
  const { hub, isLimited } = useSignedIn();
  const id = useId();
  const [typed, setTyped] = useState('');
  const search = useDebounced(typed.trim());
  const live = useLive(`${app} ${search}`, 60_000, (signal) =>
    hub.customers.listCustomers(
      { pageSize: SHOWN + 1, ...omitEmpty({ search, app: isLimited ? app : '' }) },
      { signal },
    ),
  );
  const { data, isOutdated } = useKept(live);
  const found = (data?.customers ?? []).filter(({ erasedAt }) => erasedAt === undefined);
  const picks = withChosen(found.slice(0, SHOWN).map(toPick), form.values);
  const error = form.errors.fields.get('customerId');
  const choose = ({ customerId, pickedName, pickedContact }: PickedCustomer): void => {
    form.set('customerId', customerId);
    form.set('pickedName', pickedName);
    form.set('pickedContact', pickedContact);
  };
  return (
    <div class="field">
      <label for={id}>Find a customer</label>
      <input
        id={id}
        type="search"
        value={typed}
        placeholder="name, email or reference"
        autocomplete="off"
        spellcheck={false}
        aria-invalid={error !== undefined}
        {...describedBy(id, error !== undefined, false)}
        onInput={(event) => setTyped(event.currentTarget.value)}
      />
      <ErrorText id={id}>{error}</ErrorText>
      <fieldset class={isOutdated ? 'picks outdated' : 'picks'} aria-busy={isOutdated}>
        <legend class="visually-hidden">Matching customers</legend>
        {picks.map((pick) => (
          <label key={pick.customerId} class="pick">
            <input
              type="radio"
              name={`${id}-pick`}
              checked={form.values.customerId === pick.customerId}
              onChange={() => choose(pick)}
            />
            <span>
              {pick.pickedName} <span class="muted">{pick.pickedContact}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <p class="hint" role="status">
        {data !== undefined && matchesText(found.length)}
      </p>
    </div>
  );
}

function toPick({ customerId, name, email, externalRef }: Customer): PickedCustomer {
  return { customerId, pickedName: name, pickedContact: [email, externalRef].filter(Boolean).join(' · ') };
}

/** The form submits the chosen customer even if another search does not find it, so the list shows it first. */
function withChosen(picks: readonly PickedCustomer[], chosen: PickedCustomer): readonly PickedCustomer[] {
  const isListed = picks.some(({ customerId }) => customerId === chosen.customerId);
  return chosen.customerId === '' || isListed ? picks : [chosen, ...picks];
}

function matchesText(count: number): string {
  if (count === 0) return 'No customer matches.';
  return count > SHOWN ? `The newest ${SHOWN} matches. Type more to narrow them down.` : `Matches: ${count}.`;
}
