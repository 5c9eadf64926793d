// Invariants of the database after any requests; each query finds the rows that violate one.
import type { SimulatedPayment } from '../../cli/simulator/controls.ts';
import { readSessions } from '../faults/model/reconcile.ts';
import { query } from '../support/postgres/databases.ts';

const QUESTIONS: Readonly<Record<string, string>> = {
  'a license has more active seats than it allows': `
    select l.id from license l join seat s on s.license_id = l.id and s.released_at is null
    where l.seat_limit >= 0 group by l.id having count(*) > l.seat_limit`,
  'a license notes another number of seats than it has': `
    select l.id from license l left join seat s on s.license_id = l.id and s.released_at is null
    group by l.id having count(s.id) <> l.seats_used`,
  'an app has not exactly one active signing key': `
    select a.id from app a left join signing_key k on k.app_id = a.id and k.retired_at is null
    group by a.id having count(k.id) <> 1`,
  'the usage log entries of a session do not come to its amount if it is paid, or to nothing': `
    select c.id from charge_session c left join usage_log u on u.session_id = c.id
    group by c.id
    having coalesce(sum(u.amount_minor), 0) <> case when c.status = 'success' then c.amount_minor else 0 end`,
  'a session with usage log entries has not exactly one of kind payment, of its amount': `
    select c.id from charge_session c join usage_log u on u.session_id = c.id
    group by c.id
    having count(*) filter (where u.kind = 'payment') <> 1
      or bool_or(abs(u.amount_minor) <> c.amount_minor or u.currency <> c.currency)`,
  'an entry of the usage log is taken back twice': `
    select u.reverses as id from usage_log u where u.reverses is not null group by u.reverses having count(*) > 1`,
  'fee lines do not sum up to the total of their usage log': `
    select u.id from usage_log u left join fee_line f on f.usage_log_id = u.id
    group by u.id having coalesce(sum(f.amount_minor), 0) <> u.fee_total_minor`,
};

/** The violated invariants. An empty list if there are none. */
export async function brokenInvariants(
  databaseUrl: string,
  payments: readonly SimulatedPayment[],
): Promise<string[]> {
  const broken = await Promise.all(
    Object.entries(QUESTIONS).map(async ([what, sql]) => {
      const rows = await query<{ id: string }>(databaseUrl, sql);
      return rows.map(({ id }) => `${what}: ${id}`);
    }),
  );
  return [...broken.flat(), ...(await unpaidSuccesses(databaseUrl, payments))];
}

/** Only a payment at the provider may make a session paid. */
async function unpaidSuccesses(
  databaseUrl: string,
  payments: readonly SimulatedPayment[],
): Promise<string[]> {
  const paid = new Set(
    payments.filter(({ state }) => state === 'paid').map(({ ref, proof }) => `${ref} ${proof}`),
  );
  const sessions = await readSessions(databaseUrl);
  return sessions
    .filter(
      ({ status, providerPaymentId, proof }) =>
        status === 'success' && !paid.has(`${providerPaymentId} ${proof}`),
    )
    .map(({ id }) => `session ${id} is a success, and the provider knows of no payment`);
}
