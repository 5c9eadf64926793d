// hubctl seat: the machines bound to a license.
import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { pages } from '../pages.ts';
import { parseCount } from '../quantities.ts';
import { part } from '../reply.ts';
import { SEAT_COLUMNS, SEAT_FIELDS, seatView } from '../views/seat.ts';

export function registerSeat(program: Command, { hub, out }: Context): void {
  const seat = program
    .command('seat')
    .summary('seats of a license')
    .description('The machines that are bound to a license.');

  seat
    .command('list')
    .summary('list the seats of a license')
    .description('Lists the active seats of a license, newest first.')
    .argument('<licenseId>', 'the license, lic_…')
    .option('--all', 'released seats too')
    .option('--max <n>', 'at most so many (default: all)', parseCount)
    .addHelpText('after', '\nExample:\n  hubctl seat list lic_01k8e7qk3vf2tb5s0w9m4x6ydz --all')
    .action(async (licenseId: string, { all, max }: { all?: true; max?: number }) => {
      const { admin } = await hub();
      const fetchPage = async (page: { pageSize: number; pageToken: string }) => {
        const { seats, nextPageToken } = await admin.listSeats({
          licenseId,
          includeReleased: all === true,
          ...page,
        });
        return { items: seats.map(seatView), next: nextPageToken };
      };
      const count = await out.list(pages(fetchPage, max), SEAT_COLUMNS);
      if (count === 0)
        out.note(all ? 'The license never had a seat.' : 'No seat is taken. See released ones with --all.');
    });

  seat
    .command('release')
    .summary('release a seat')
    .description(
      'Releases a seat, as the machine itself would. The machine can take a free seat again at any time.',
    )
    .argument('<seatId>', 'the seat, seat_…')
    .addHelpText('after', '\nExample:\n  hubctl seat release seat_01k8e7v0c5eaxbgqm2tq1h9n3r')
    .action(async (seatId: string) => {
      const { admin } = await hub();
      const reply = await admin.releaseSeat({ seatId });
      await out.record(seatView(part(reply.seat, 'seat')), SEAT_FIELDS);
    });
}
