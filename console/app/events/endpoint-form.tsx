// Adds and edits an endpoint.
import type { Endpoint } from '../../../gen/hub/event/v1/event_pb.ts';
import { ShortId } from '../components/ids.tsx';
import { useApps, useSlots } from '../components/scope-filters.ts';
import { Changes } from '../forms/changes.tsx';
import { ChecksField, namesText, SwitchField } from '../forms/checks-field.tsx';
import { DialogForm } from '../forms/dialog-form.tsx';
import { readNames } from '../forms/field-values.ts';
import { TextField } from '../forms/fields.tsx';
import { emptyValues, type Form, type Values } from '../forms/form-state.ts';
import { useSignedIn } from '../sign-in-state.ts';
import { SecretText } from './endpoint-secret.tsx';
import { TYPE_CHECKS } from './event-types.ts';

const LABELS = {
  url: 'URL',
  events: 'Events',
  apps: 'Apps',
  slots: 'Slots',
  includeKeys: 'License keys',
  description: 'Description',
};

type EndpointKey = keyof typeof LABELS;

export function AddEndpoint() {
  const { hub } = useSignedIn();
  const names = useScopeNames();
  return (
    <DialogForm
      action="Add endpoint"
      title="Add an endpoint"
      submitLabel="Add"
      wide
      subject={undefined}
      initial={() => emptyValues(LABELS)}
      isReady={isComplete}
      submit={async ({ values }) => {
        const { endpoint, secret } = await hub.events.createEndpoint({ settings: settingsOf(values) });
        return {
          announce: 'The endpoint is added.',
          show: (
            <>
              <SecretText secret={secret} />
              <p>
                Endpoint <ShortId id={endpoint?.endpointId ?? ''} />
              </p>
            </>
          ),
        };
      }}
      effect={({ values }) => (
        <p>
          {describe(values)} The endpoint receives the events of later changes. The hub then shows the secret
          that signs deliveries, once.
        </p>
      )}
    >
      {(form) => <EndpointFields form={form} names={names} />}
    </DialogForm>
  );
}

export function EditEndpoint({ endpoint }: { readonly endpoint: Endpoint }) {
  const { hub } = useSignedIn();
  const names = useScopeNames();
  return (
    <DialogForm
      action="Edit"
      title="Change this endpoint"
      submitLabel="Change"
      wide
      subject={endpoint}
      initial={endpointValues}
      isEdit
      isReady={isComplete}
      submit={async ({ values, subject: { endpointId } }) => {
        await hub.events.updateEndpoint({ endpointId, settings: settingsOf(values) });
        return 'The endpoint is changed.';
      }}
      effect={(form) => (
        <Changes form={form} labels={LABELS} textOf={textOf}>
          <p>
            {describe(form.values)} This applies to the events of later changes.
            {form.changed.includes('url') && ' Pending deliveries go to the new URL.'}
          </p>
        </Changes>
      )}
    >
      {(form) => <EndpointFields form={form} names={names} />}
    </DialogForm>
  );
}

type ScopeNames = Readonly<Record<'apps' | 'slots', readonly string[]>>;

/** The apps and slots to choose from. The page reads them before it opens the form, so that the layout does not change. */
function useScopeNames(): ScopeNames {
  return { apps: useApps().names, slots: useSlots().names };
}

type FieldsProps = { readonly form: Form<EndpointKey>; readonly names: ScopeNames };

function EndpointFields({ form, names }: FieldsProps) {
  const { apps, slots } = form.values;
  const choices = { apps: choicesOf(names.apps, apps), slots: choicesOf(names.slots, slots) };
  return (
    <>
      <TextField
        form={form}
        name="url"
        label={LABELS.url}
        placeholder="https://shop.example/hooks/hub"
        maxLength={2048}
        hint="An https URL. Plain http, and addresses of private networks, need HUB_EVENT_ALLOW_NETWORKS."
        isRequired
      />
      <ChecksField form={form} name="events" label={LABELS.events} checks={TYPE_CHECKS} />
      {(['apps', 'slots'] as const).map(
        (name) =>
          choices[name].length > 0 && (
            <ChecksField
              key={name}
              form={form}
              name={name}
              label={LABELS[name]}
              hint="Only events of the chosen apps and slots. Without a choice, events of all."
              checks={choices[name]}
            />
          ),
      )}
      <SwitchField
        form={form}
        name="includeKeys"
        label="Include license keys"
        hint="In license.issued only. A receiver of a key can activate machines with it."
      />
      <TextField form={form} name="description" label={LABELS.description} maxLength={200} />
    </>
  );
}

/** The names to choose from: the existing and the chosen ones. */
function choicesOf(names: readonly string[], chosen: string): { readonly value: string }[] {
  return [...new Set([...names, ...readNames(chosen)])].map((value) => ({ value }));
}

function textOf(name: EndpointKey, values: Values<EndpointKey>): string {
  const value = values[name];
  if (name === 'includeKeys') return value === '' ? 'not included' : 'included';
  if (name === 'apps' || name === 'slots') return readNames(value).join(', ') || 'no limit';
  return (name === 'events' ? readNames(value).join(', ') : value.trim()) || 'none';
}

/** Describes the events and the URL of the endpoint in sentences. */
function describe({ url, events, apps, slots, includeKeys }: Values<EndpointKey>): string {
  const types = readNames(events);
  const scopes = [
    ...readNames(apps).map((app) => `app ${app}`),
    ...readNames(slots).map((it) => `slot ${it}`),
  ];
  const what = types.includes('*') ? 'all events' : types.join(', ') || 'the chosen events';
  return [
    `The hub posts ${what}${scopes.length > 0 ? ` of ${scopes.join(', ')}` : ''} to ${url.trim() || 'the URL'}.`,
    scopes.length > 0 && 'The hub does not post events without an app or a slot, such as those of customers.',
    includeKeys !== '' && 'Events of issued licenses contain the license keys.',
  ]
    .filter(Boolean)
    .join(' ');
}

function isComplete({ url, events }: Values<EndpointKey>): boolean {
  return url.trim() !== '' && readNames(events).length > 0;
}

function endpointValues(endpoint: Endpoint): Values<EndpointKey> {
  const { url, events, apps, slots, includeKeys, description } = endpoint;
  return {
    url,
    events: namesText(events),
    apps: namesText(apps),
    slots: namesText(slots),
    includeKeys: includeKeys ? 'yes' : '',
    description,
  };
}

function settingsOf(values: Values<EndpointKey>) {
  return {
    url: values.url.trim(),
    events: readNames(values.events),
    apps: readNames(values.apps),
    slots: readNames(values.slots),
    includeKeys: values.includeKeys !== '',
    description: values.description.trim(),
  };
}
