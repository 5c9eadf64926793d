// Creates an offer, and changes its terms, which makes a new version.
import type { Offer, OfferTerms } from '../../../gen/hub/order/v1/order_pb.ts';
import { grantText, summarizeGrant } from '../../../lib/presentation/order-text.ts';
import { useSlots } from '../components/scope-filters.ts';
import { DialogForm } from '../forms/dialog-form.tsx';
import { AreaField, ChoiceField, Effect, TextField } from '../forms/fields.tsx';
import { FieldError } from '../forms/form-errors.ts';
import { type Form, required, type Values } from '../forms/form-state.ts';
import { PeriodFields } from '../forms/period-fields.tsx';
import { MainTerms, OtherTerms } from '../licensing/terms-fields.tsx';
import { useLive } from '../live.ts';
import { go, linkTo } from '../route.ts';
import type { SignedIn } from '../signed-in.ts';
import { NEW_OFFER, type OfferKey, offerValues, readTerms, refundChoices } from './offer-values.ts';

type CreateProps = {
  readonly who: SignedIn;
  /** The slugs of the apps to choose from. */
  readonly apps: readonly string[];
  /** The app chosen at first. */
  readonly app: string | undefined;
};

export function CreateOffer({ who, apps, app }: CreateProps) {
  const slots = useSlots(who).names;
  return (
    <DialogForm
      action="New offer"
      title="Create an offer"
      submitLabel="Create"
      wide
      subject={undefined}
      initial={() => ({ ...NEW_OFFER, app: app ?? apps[0] ?? '' })}
      submit={async ({ values }) => {
        const { offer } = await who.hub.offers.createOffer({
          app: required(values, 'app', 'Choose an app.'),
          slug: required(values, 'slug', 'Enter a short name for the offer.'),
          terms: readTerms(values),
        });
        if (offer) go(linkTo(['offers', offer.offerId]));
        return { announce: 'The offer is created.' };
      }}
    >
      {(form) => (
        <>
          <ChoiceField
            form={form}
            name="app"
            label="App"
            choices={apps.map((slug) => [slug, slug] as const)}
          />
          <TextField
            form={form}
            name="slug"
            label="Short name"
            placeholder="pro"
            maxLength={63}
            hint="Shops name the offer by it, after the app. It does not change: lower-case letters, digits and inner dashes."
            isRequired
          />
          <ChoiceField form={form} name="grants" label="Grants" choices={GRANTS} />
          <OfferFields who={who} form={form} app={form.values.app} slots={slots} />
          <Effect>
            <p>{describe(form.values)}</p>
          </Effect>
        </>
      )}
    </DialogForm>
  );
}

const GRANTS = [
  ['license', 'new licenses'],
  ['renewal', 'the renewal of a license'],
  ['seats', 'more seats for a license'],
] as const;

type EditProps = {
  readonly who: SignedIn;
  readonly offer: Offer;
  /** Reloads the page. */
  readonly onDone: () => Promise<void>;
};

export function EditOffer({ who, offer, onDone }: EditProps) {
  const slots = useSlots(who).names;
  const { offerId } = offer;
  return (
    <DialogForm
      action="New version"
      title="Change the terms of this offer"
      submitLabel="Create version"
      wide
      subject={offer}
      initial={({ terms }) => offerValues(terms)}
      isReady={(values, { terms }) => changedNames(terms, values).length > 0}
      submit={async ({ values, subject }) => {
        const { offer: now } = await who.hub.offers.updateOffer({
          offer: offerId,
          terms: readTerms(values),
          expectedVersion: subject.version,
        });
        await onDone();
        return { announce: `Version ${now?.version} of the offer is created.` };
      }}
      reload={async () => (await who.hub.offers.getOffer({ offer: offerId })).offer ?? offer}
    >
      {(form, before) => (
        <>
          <OfferFields who={who} form={form} app={before.app} slots={slots} />
          <EditEffect offer={before} values={form.values} />
        </>
      )}
    </DialogForm>
  );
}

type FieldsProps = {
  readonly who: SignedIn;
  readonly form: Form<OfferKey>;
  readonly app: string;
  readonly slots: readonly string[];
};

const EVERY_MS = 300_000;

function OfferFields({ who, form, app, slots }: FieldsProps) {
  const { grants, pageSlot } = form.values;
  const pages = [...new Set([...slots, pageSlot])].filter(Boolean);
  return (
    <>
      <TextField form={form} name="name" label="Name" hint="Customers see it." maxLength={200} isRequired />
      <AreaField
        form={form}
        name="prices"
        label="Prices of one unit"
        placeholder="USD=9.00"
        hint="One currency=amount on a line."
      />
      {grants === 'license' && <LicenseFields who={who} form={form} app={app} />}
      {grants === 'renewal' && <PeriodFields form={form} />}
      {grants === 'seats' && (
        <TextField form={form} name="seats" label="Seats" hint="How many a unit adds." isRequired />
      )}
      {grants === 'license' && (
        <ChoiceField
          form={form}
          name="pageSlot"
          label="Sold on the hub’s own page"
          hint="The page charges through this slot."
          choices={[['', 'no'], ...pages.map((name) => [name, `through ${name}`] as const)]}
        />
      )}
      <TextField
        form={form}
        name="downloadUrl"
        label="Download address"
        placeholder="https://shop.example/download"
        hint="Order pages and mails show it."
        maxLength={500}
      />
      {grants === 'license' && (
        <AreaField
          form={form}
          name="catalogPrices"
          label="Prices at providers"
          placeholder="stripe=price_…"
          hint="One gateway=price on each line. The offer grants purchases of these prices without the hub, such as by a payment link."
        />
      )}
      <ChoiceField
        form={form}
        name="onRefund"
        label="On a refund"
        hint="What the hub does when the payment is refunded in full or reversed."
        choices={refundChoices(grants)}
      />
    </>
  );
}

function LicenseFields({ who, form, app }: Omit<FieldsProps, 'slots'>) {
  const { data: defaults } = useLive(`defaults ${app}`, EVERY_MS, async (signal) =>
    app === '' ? undefined : (await who.hub.licenses.getApp({ app }, { signal })).app?.defaultTerms,
  );
  return (
    <>
      <MainTerms who={who} form={form} app={app} defaults={defaults} />
      <ChoiceField form={form} name="validity" label="Valid" choices={VALIDITIES} />
      {form.values.validity === 'first' && <PeriodFields form={form} />}
      <details>
        <summary>More terms</summary>
        <div class="more-fields">
          <OtherTerms form={form} defaults={defaults} />
        </div>
      </details>
    </>
  );
}

const VALIDITIES = [
  ['ever', 'for ever'],
  ['first', 'for a period after the first activation'],
] as const;

type EffectProps = { readonly offer: Offer; readonly values: Values<OfferKey> };

function EditEffect({ offer: { terms, version }, values }: EffectProps) {
  const before = offerValues(terms);
  const names = changedNames(terms, values);
  if (names.length === 0) {
    return (
      <Effect>
        <p>Nothing is changed yet.</p>
      </Effect>
    );
  }
  return (
    <Effect>
      <ul>
        {names.map((name) => (
          <li key={name}>
            {LABELS[name]}: {shown(name, before)} → {shown(name, values)}
          </li>
        ))}
      </ul>
      <p>
        This makes version {version + 1}. Sessions that exist keep their version. {describe(values)}
      </p>
    </Effect>
  );
}

const LABELS: Readonly<Record<OfferKey, string>> = {
  app: 'App',
  slug: 'Short name',
  name: 'Name',
  prices: 'Prices',
  grants: 'Grants',
  seatLimit: 'Seats',
  limitProfile: 'Limit profile',
  limits: 'Own limits',
  features: 'Features',
  validity: 'Valid',
  years: 'Years',
  months: 'Months',
  days: 'Days',
  graceDays: 'Grace in days',
  leaseDays: 'Offline lease in days',
  metadata: 'Metadata',
  signedMetadata: 'Signed metadata',
  seats: 'Seats',
  pageSlot: 'Sold on the hub’s own page',
  downloadUrl: 'Download address',
  onRefund: 'On a refund',
  catalogPrices: 'Prices at providers',
};

function shown(key: OfferKey, values: Values<OfferKey>): string {
  const value = values[key];
  const choices = key === 'onRefund' ? refundChoices(values.grants) : VALIDITIES;
  const choice = choices.find(([name]) => name === value)?.[1];
  return choice ?? (value.trim().split('\n').filter(Boolean).join(', ') || 'none');
}

function changedNames(terms: OfferTerms | undefined, values: Values<OfferKey>): OfferKey[] {
  const before = offerValues(terms);
  return (Object.keys(before) as OfferKey[]).filter((name) => values[name].trim() !== before[name]);
}

/** `Sells a license with 2 seats for USD=9.00.`; while the form is not complete, what is missing. */
function describe(values: Values<OfferKey>): string {
  try {
    const { grant } = readTerms(values) as OfferTerms; // of the same shape
    return `A unit is ${grantText(summarizeGrant(grant))}, for ${values.prices.trim().split('\n').join(' or ')}.`;
  } catch (error) {
    if (error instanceof FieldError) return 'The form is not complete yet.';
    throw error;
  }
}
