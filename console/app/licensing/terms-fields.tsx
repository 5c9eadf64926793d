// The fields of a license's terms, for issuing and editing.
import type { DefaultTerms } from '../../../gen/hub/license/v1/license_pb.ts';
import { limitText } from '../components/values.tsx';
import { AreaField, ChoiceField, TextField } from '../forms/fields.tsx';
import type { Form } from '../forms/form-state.ts';
import { useLive } from '../poll-hub.ts';
import { useSignedIn } from '../sign-in-state.ts';
import { TERM_LABELS, type TermsKey } from './terms-values.ts';

type TermsProps = {
  readonly form: Form<TermsKey>;
  /** The terms that empty fields stand for; undefined if a field cannot be empty. */
  readonly defaults?: DefaultTerms | undefined;
};

export function MainTerms({ form, app, defaults }: TermsProps & { readonly app: string }) {
  const seats = defaults ? `${limitText(defaults.seatLimit || 1)}, the default of the app` : '';
  return (
    <>
      <Term form={form} name="seatLimit" placeholder={seats} />
      <ProfileField form={form} app={app} />
      <Term form={form} name="features" placeholder="export, sync" />
    </>
  );
}

const HINTS = {
  seatLimit: 'Machines that may be active at the same time: a number, or “unlimited”.',
  features: 'Names, separated by commas.',
  limits: 'One name=number on a line; “unlimited” is a number too. They override the limits of the profile.',
  graceDays: 'How long the license stays valid after its expiry; 0 for none.',
  leaseDays: 'How long a signed copy works without contact to the hub; 0 for no bound.',
  metadata: 'One name=value on a line.',
  signedMetadata: 'Names of the entries of metadata that signed copies contain, separated by commas.',
};

type TermProps = {
  readonly form: Form<TermsKey>;
  readonly name: keyof typeof HINTS;
  readonly placeholder: string;
};

function Term({ name, ...props }: TermProps) {
  const field = { ...props, name, label: TERM_LABELS[name], hint: HINTS[name] };
  return name === 'limits' || name === 'metadata' ? <AreaField {...field} /> : <TextField {...field} />;
}

const EVERY_MS = 300_000;

function ProfileField({ form, app }: { readonly form: Form<TermsKey>; readonly app: string }) {
  const { hub } = useSignedIn();
  const { data: profiles = [] } = useLive(`profiles ${app}`, EVERY_MS, async (signal) =>
    app === '' ? [] : (await hub.licenses.listLimitProfiles({ app }, { signal })).limitProfiles,
  );
  const names = new Set([form.values.limitProfile, ...profiles.map(({ name }) => name)].filter(Boolean));
  return (
    <ChoiceField
      form={form}
      name="limitProfile"
      label="Limit profile"
      choices={[['', 'none'], ...[...names].map((name) => [name, name] as const)]}
    />
  );
}

/** The terms that licenses of this app have by default. */
export function useDefaultTerms(app: string): DefaultTerms | undefined {
  const { hub } = useSignedIn();
  const { data } = useLive(`defaults ${app}`, EVERY_MS, async (signal) =>
    app === '' ? undefined : (await hub.licenses.getApp({ app }, { signal })).app?.defaultTerms,
  );
  return data;
}

/** The less common terms, folded. */
export function MoreTerms(props: TermsProps) {
  return (
    <details>
      <summary>More terms</summary>
      <div class="more-fields">
        <OtherTerms {...props} />
      </div>
    </details>
  );
}

export function OtherTerms({ form, defaults }: TermsProps) {
  const days = (number: number | undefined): string =>
    number === undefined ? '' : `${number}, the default of the app`;
  return (
    <>
      <Term form={form} name="limits" placeholder="projects=10" />
      <Term form={form} name="graceDays" placeholder={days(defaults?.graceDays)} />
      <Term form={form} name="leaseDays" placeholder={days(defaults?.leaseDays)} />
      <Term form={form} name="metadata" placeholder="order=1183" />
      <Term form={form} name="signedMetadata" placeholder="edition" />
    </>
  );
}
