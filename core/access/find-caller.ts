// Finds the caller by service token or client certificate. Reads the database for each call, so that a
// revocation takes effect at once.
import type { Pool } from 'pg';
import type { Clock } from '../clock.ts';
import { formatId } from '../ids.ts';
import { epochMs } from '../storage/sql/epoch.ts';
import type { Caller } from './caller.ts';
import type { RoleName, Scope } from './entities.ts';
import type { LastUsed } from './last-used.ts';
import { isToken, tokenIdOf } from './token-format.ts';

export type FindCallerOptions = { readonly pool: Pool; readonly clock: Clock; readonly lastUsed: LastUsed };

export type FindCaller = ReturnType<typeof createFindCaller>;

type Row = {
  readonly id: string;
  readonly name: string;
  readonly role: RoleName;
  readonly scope: Scope | null;
  readonly token_hash: Buffer | null;
  readonly last_used_ms: number | null;
};

const COLUMNS = `id, name, role, scope, token_hash, ${epochMs('last_used_at')} as last_used_ms`;
const LIVE = 'revoked_at is null and (expires_at is null or expires_at > $2)';

export function createFindCaller({ pool, clock, lastUsed }: FindCallerOptions) {
  const toCaller = ({ id, name, role, scope, last_used_ms }: Row): Caller => {
    lastUsed.touch(id, last_used_ms, clock());
    return { id: formatId('tok', id), name, role, ...(scope && { scope }) };
  };
  return {
    /** Undefined if the token is unknown, revoked or expired. */
    async byToken(token: string): Promise<Caller | undefined> {
      const id = tokenIdOf(token);
      if (id === undefined) return undefined;
      const { rows } = await pool.query<Row>({
        name: 'find_caller',
        text: `select ${COLUMNS} from service_token where id = $1 and ${LIVE}`,
        values: [id, clock()],
      });
      const [row] = rows;
      return row?.token_hash && isToken(token, row.token_hash) ? toCaller(row) : undefined;
    },

    /** By the subject of a verified certificate. Undefined if no valid service token names it. */
    async byCertificate(subject: string): Promise<Caller | undefined> {
      // service_token_certificate_subject_key
      const { rows } = await pool.query<Row>({
        name: 'find_certificate_caller',
        text: `select ${COLUMNS} from service_token where certificate_subject = $1 and ${LIVE}`,
        values: [subject, clock()],
      });
      return rows[0] && { ...toCaller(rows[0]), certificateSubject: subject };
    },
  };
}
