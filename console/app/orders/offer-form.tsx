// Creates an offer, and changes its terms, which makes a new version.
import { create } from '@bufbuild/protobuf';
import { type Offer, OfferTermsSchema } from '../../../gen/hub/order/v1/order_pb.ts';
import { grantText, summarizeGrant } from '../../../lib/presentation/order-text.ts';
import { type Scope, useSlots } from '../components/scope-filters.ts';
import { Changes } from '../forms/changes.tsx';
import { DialogForm } from '../forms/dialog-form.tsx';
import { AreaField, ChoiceField, TextField } from '../forms/fields.tsx';
import { FieldError } from '../forms/form-errors.ts';
import { type Form, required, type Values } from '../forms/form-state.ts';
import { PeriodFields } from '../forms/period-fields.tsx';
import { MainTerms, MoreTerms, useDefaultTerms } from '../licensing/terms-fields.tsx';
import { linkTo } from '../route.ts';
import { useSignedIn } from '../sign-in-state.ts';
import {
  NEW_OFFER,
  OFFER_LABELS,
  type OfferKey,
  offerValues,
  readTerms,
  refundChoices,
} from './offer-values.ts';

/** `apps`: those to choose from. */
export function CreateOffer({ apps }: { readonly apps: Scope }) {
  const { hub } = useSignedIn();
  const slots = useSlots().names;
  return (
    <DialogForm
      action="New offer"
      title="Create an offer"
      submitLabel="Create"
      wide
      subject={undefined}
      initial={() => ({ ...NEW_OFFER, app: apps.chosen ?? apps.names[0] ?? '' })}
      submit={async ({ values }) => {
        const { offer } = await hub.offers.createOffer({
          app: required(values, 'app', 'Choose an app.'),
          slug: required(values, 'slug', 'Enter a short name for the offer.'),
          terms: readTerms(values),
        });
        return { announce: 'The offer is created.', goTo: offer && linkTo(['offers', offer.offerId]) };
      }}
      effect={({ values }) => <p>{describe(values)}</p>}
    >
      {(form) => (
        <>
          <ChoiceField
            form={form}
            name="app"
            label="App"
            choices={apps.names.map((slug) => [slug, slug] as const)}
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
          <OfferFields form={form} app={form.values.app} slots={slots} />
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

export function EditOffer({ offer }: { readonly offer: Offer }) {
  const { hub } = useSignedIn();
  const slots = useSlots().names;
  const { offerId } = offer;
  return (
    <DialogForm
      action="New version"
      title="Change the terms of this offer"
      submitLabel="Create version"
      wide
      subject={offer}
      initial={({ terms }) => offerValues(terms)}
      isEdit
      submit={async ({ values, subject }) => {
        const { offer: now } = await hub.offers.updateOffer({
          offer: offerId,
          terms: readTerms(values),
          expectedVersion: subject.version,
        });
        return `Version ${now?.version} of the offer is created.`;
      }}
      reload={async () => (await hub.offers.getOffer({ offer: offerId })).offer ?? offer}
      effect={(form, before) => (
        <Changes form={form} labels={OFFER_LABELS} textOf={textOf}>
          <p>
            This makes version {before.version + 1}. Sessions that exist keep their version.{' '}
            {describe(form.values)}
          </p>
        </Changes>
      )}
    >
      {(form, before) => <OfferFields form={form} app={before.app} slots={slots} />}
    </DialogForm>
  );
}

type FieldsProps = {
  readonly form: Form<OfferKey>;
  readonly app: string;
  readonly slots: readonly string[];
};

function OfferFields({ form, app, slots }: FieldsProps) {
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
      {grants === 'license' && <LicenseFields form={form} app={app} />}
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

function LicenseFields({ form, app }: Omit<FieldsProps, 'slots'>) {
  const defaults = useDefaultTerms(app);
  return (
    <>
      <MainTerms form={form} app={app} defaults={defaults} />
      <ChoiceField form={form} name="validity" label="Valid" choices={VALIDITIES} />
      {form.values.validity === 'first' && <PeriodFields form={form} />}
      <MoreTerms form={form} defaults={defaults} />
    </>
  );
}

const VALIDITIES = [
  ['ever', 'for ever'],
  ['first', 'for a period after the first activation'],
] as const;

function textOf(key: OfferKey, values: Values<OfferKey>): string {
  const value = values[key];
  const choices = key === 'onRefund' ? refundChoices(values.grants) : VALIDITIES;
  const choice = choices.find(([name]) => name === value)?.[1];
  return choice ?? (value.trim().split('\n').filter(Boolean).join(', ') || 'none');
}

/** `Sells a license with 2 seats for USD=9.00.`; while the form is not complete, what is missing. */
function describe(values: Values<OfferKey>): string {
  try {
    const { grant } = create(OfferTermsSchema, readTerms(values));
    return `A unit is ${grantText(summarizeGrant(grant))}, for ${values.prices.trim().split('\n').join(' or ')}.`;
  } catch (error) {
    if (error instanceof FieldError) return 'The form is not complete yet.';
    throw error;
  }
}
