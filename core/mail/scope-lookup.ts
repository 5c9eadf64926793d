// Looks up the app of mails, for tokens that are limited to apps.
import type { Pool } from 'pg';
import type { FindOwner } from '../access/scope.ts';
import { parseId } from '../ids.ts';

export function createFindMailOwner(pool: Pool): Pick<FindOwner, 'mail'> {
  return {
    async mail(mailId) {
      const { rows } = await pool.query<{ owner: string }>({
        name: 'app_of_mail',
        // mail_pkey
        text: 'select a.slug as owner from mail m join app a on a.id = m.app_id where m.id = $1',
        values: [parseId('mal', mailId) ?? null],
      });
      return rows[0]?.owner;
    },
  };
}
