// Reads what charge sessions sell.
import type { Pool } from 'pg';
import { formatId } from '../../ids.ts';
import type { Sales } from '../../payment/order-interface.ts';

type Row = {
  readonly sessionId: string;
  readonly offer: string;
  readonly offerId: string;
  readonly offerVersion: number;
  readonly quantity: number;
  readonly customerId: string | null;
  readonly licenseId: string | null;
};

export function createReadPurchases(pool: Pool): Sales['readPurchases'] {
  return async (sessionIds) => {
    const { rows } = await pool.query<Row>({
      name: 'read_purchases',
      // purchase_pkey
      text: `select p.session_id as "sessionId", a.slug || '/' || f.slug as offer, f.id as "offerId",
                    v.version as "offerVersion", p.quantity, p.customer_id as "customerId",
                    p.license_id as "licenseId"
             from purchase p join offer_version v on v.id = p.offer_version_id
               join offer f on f.id = v.offer_id join app a on a.id = f.app_id
             where p.session_id = any($1)`,
      values: [sessionIds],
    });
    return new Map(
      rows.map(({ sessionId, offerId, customerId, licenseId, ...rest }) => [
        sessionId,
        {
          ...rest,
          offerId: formatId('ofr', offerId),
          customerId: customerId === null ? '' : formatId('cus', customerId),
          licenseId: licenseId === null ? '' : formatId('lic', licenseId),
        },
      ]),
    );
  };
}
