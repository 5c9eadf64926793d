// Composes the mail of an order from the order, its customer, its keys and the template.
import { formatDecimal } from '../../../lib/presentation/money.ts';
import { formatId } from '../../ids.ts';
import type { LicenseWithKey } from '../../order/orders/issued-keys.ts';
import { readOrder, type StoredOrder } from '../../order/orders/read-orders.ts';
import type { Database } from '../../storage/database.ts';
import type { MailKindName } from '../entities.ts';
import type { Content, Values } from './placeholder-values.ts';
import { render } from './render-mail.ts';
import { type EffectiveTemplate, findTemplate } from './templates.ts';

export type ComposeOptions = {
  readonly db: Database;
  readonly readIssuedKeys: (order: StoredOrder) => Promise<LicenseWithKey[]>;
};

export type Composed = {
  readonly content: Content;
  readonly template: EffectiveTemplate;
  readonly to: { readonly name: string; readonly address: string };
};

/** The mail, or the reason why there is none, as a sentence. */
export type ComposeResult = Composed | { readonly problem: string };

export type Compose = ReturnType<typeof createCompose>;

/**
 * Creates the function that composes the mail of the order with this UUID. `language` is by default that of
 * the session; an invalid tag means English.
 */
export function createCompose({ db, readIssuedKeys }: ComposeOptions) {
  return async (orderId: string, language?: string): Promise<ComposeResult> => {
    const order = await readOrder(db.pool, orderId);
    if (order === undefined) return { problem: 'the order does not exist' };
    if (order.state === 'refunded') return { problem: 'the payment of the order was refunded' };
    if (order.state !== 'fulfilled') return { problem: 'the order is blocked: it granted nothing yet' };
    const context = await readContext(db, order);
    if (context === undefined) return { problem: 'the order has no customer' };
    if (context.erased) return { problem: 'the customer has been erased' };
    if (context.email === null) return { problem: 'the customer has no email address' };
    const kind = kindOf(order);
    const keys = kind === 'license' ? await readIssuedKeys(order) : [];
    const licenses = licensesOf(order, keys);
    if (licenses.length === 0) return { problem: 'the license keys of the order have been replaced' };
    const template = await findTemplate(db.em(), context.appId, {
      kind,
      language: language || context.language,
    });
    // A customer that was created with an email only has it as the name.
    const name = context.name === context.email ? '' : context.name;
    return {
      template,
      to: { name, address: context.email },
      content: render(template, { ...valuesOf(order), customerName: name, licenses }),
    };
  };
}

function kindOf({ licenses }: StoredOrder): MailKindName {
  if (licenses.some(({ issued }) => issued)) return 'license';
  return licenses.some(({ seatsAdded }) => seatsAdded > 0) ? 'seats' : 'renewal';
}

/** Leaves out new licenses without a key to show. */
function licensesOf(order: StoredOrder, keys: readonly LicenseWithKey[]): Values['licenses'] {
  return order.licenses.flatMap((license): Values['licenses'] => {
    const { licenseId: uuid, issued, expiresAfter, seatsAdded } = license;
    const licenseId = formatId('lic', uuid);
    if (!issued) return [{ licenseId, expiresOn: dayOf(expiresAfter), seatsAdded: String(seatsAdded) }];
    const licenseKey = keys.find((each) => each.licenseId === uuid)?.licenseKey ?? '';
    return licenseKey === '' ? [] : [{ licenseId, licenseKey }];
  });
}

function valuesOf(order: StoredOrder): Omit<Values, 'customerName' | 'licenses'> {
  const { minor, currency } = order.amount;
  return {
    appName: order.appName,
    offerName: order.offerName,
    orderId: formatId('ord', order.id),
    quantity: String(order.quantity),
    amount: `${formatDecimal(minor, currency)} ${currency}`,
    paidOn: dayOf(order.createdAt),
    downloadUrl: order.downloadUrl,
  };
}

/** The day in UTC; empty for null. */
function dayOf(at: Date | null): string {
  return at === null ? '' : at.toISOString().slice(0, 10);
}

type Context = {
  readonly appId: string;
  readonly language: string;
  readonly name: string;
  readonly email: string | null;
  readonly erased: boolean;
};

/** Undefined without a customer. */
async function readContext(db: Database, order: StoredOrder): Promise<Context | undefined> {
  const { rows } = await db.pool.query<Context>({
    name: 'read_mail_context',
    // sales_order_pkey, customer_pkey, charge_session_pkey
    text: `select o.app_id as "appId", coalesce(c.language, '') as language, u.name, u.email,
                  u.erased_at is not null as erased
           from sales_order o join customer u on u.id = o.customer_id
             join charge_session c on c.id = o.session_id
           where o.id = $1`,
    values: [order.id],
  });
  return rows[0];
}
