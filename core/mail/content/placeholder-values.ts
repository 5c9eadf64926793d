// The texts of templates and mails, and the values of their placeholders.
import type { MailKindName } from '../entities.ts';

/** Placeholders of all mails. Their values are texts, empty if there is none. */
export const PLACEHOLDERS = [
  'customerName',
  'appName',
  'offerName',
  'orderId',
  'quantity',
  'amount',
  'paidOn',
  'downloadUrl',
] as const;

/** Placeholders of each license, within `{{#licenses}}…{{/licenses}}`, by the kind of the mail. */
export const LICENSE_PLACEHOLDERS = {
  license: ['licenseId', 'licenseKey'],
  renewal: ['licenseId', 'expiresOn'],
  seats: ['licenseId', 'seatsAdded'],
} as const satisfies Record<MailKindName, readonly string[]>;

export type TemplateTexts = {
  readonly subject: string;
  readonly text: string;
  /** Empty for mails of plain text only. */
  readonly html: string;
};

export type Content = TemplateTexts;

type LicensePlaceholder = (typeof LICENSE_PLACEHOLDERS)[keyof typeof LICENSE_PLACEHOLDERS][number];

/** The values of the placeholders. Those of a license that its kind of mail does not have are missing. */
export type Values = Readonly<Record<(typeof PLACEHOLDERS)[number], string>> & {
  readonly licenses: readonly Partial<Record<LicensePlaceholder, string>>[];
};
