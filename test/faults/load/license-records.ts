// Compares the seats in the database with the responses to customers.
import { formatId } from '../../../core/ids.ts';
import { miscounted } from '../../support/hub/license.ts';
import { query } from '../../support/postgres/databases.ts';
import type { Machine } from './license-load.ts';

type BookedSeat = { readonly id: string; readonly fingerprint: string; readonly active: boolean };

/** Seats that are lost, granted twice or above the limit. An empty list if there are none. */
export async function seatTrouble(databaseUrl: string, machines: readonly Machine[]): Promise<string[]> {
  const seats = await query<BookedSeat>(
    databaseUrl,
    `select id::text, machine_fingerprint as fingerprint, released_at is null as active from seat`,
  );
  const overfull = await query<{ hint: string; active: number }>(
    databaseUrl,
    `select l.key_hint as hint, count(*)::int as active from seat s join license l on l.id = s.license_id
     where s.released_at is null and l.seat_limit <> -1 group by l.id having count(*) > l.seat_limit`,
  );
  const wrong = await miscounted(databaseUrl);
  const byMachine = Map.groupBy(seats, ({ fingerprint }) => fingerprint);
  return [
    ...overfull.map(({ hint, active }) => `license …${hint} has ${active} seats, more than its limit`),
    ...wrong.map(({ id, noted, counted }) => `license ${id} notes ${noted} seats, and has ${counted}`),
    ...machines.flatMap((machine) => machineTrouble(machine, byMachine.get(machine.fingerprint) ?? [])),
  ];
}

function machineTrouble(machine: Machine, seats: readonly BookedSeat[]): string[] {
  const { fingerprint, granted, released, doubtfulActivations, isSure } = machine;
  const booked = new Map(seats.map((seat) => [formatId('seat', seat.id), seat]));
  const told: string[] = [];
  const expect = (holds: boolean, what: string): void => {
    if (!holds) told.push(`${fingerprint}: ${what}`);
  };
  for (const id of granted) expect(booked.has(id), `the acknowledged seat ${id} is not there`);
  for (const id of released)
    expect(booked.get(id)?.active === false, `the release of ${id} was acknowledged, and it is active`);
  if (machine.seatId !== undefined && isSure)
    expect(booked.get(machine.seatId)?.active === true, `its seat ${machine.seatId} is not active`);
  const unknown = seats.filter((seat) => !granted.has(formatId('seat', seat.id)));
  expect(
    unknown.length <= doubtfulActivations,
    `${unknown.length} seats were granted that nobody was told of, in ${doubtfulActivations} requests without an answer`,
  );
  expect(seats.filter(({ active }) => active).length <= 1, 'it has more than one active seat');
  return told;
}
