// hubctl seat: the machines bound to a license.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addNoun, addVerb } from '../../command-help.ts';
import { readPages } from '../../connect/calls.ts';
import { addWatch, type ListingOptions, printList } from '../../output/watch-list.ts';
import { maxOption } from '../../parse/shared-options.ts';
import { SEAT, SEAT_COLUMNS, SEAT_FIELDS, seatView } from '../../views/licensing/seat.ts';

export function registerSeat(program: Command, commandContext: CommandContext): void {
  const { hub, out } = commandContext;
  const seat = addNoun(program, 'seat', 'The machines that use a license.');

  const listing = addVerb(seat, 'list', {
    summary: 'list the seats of a license',
    description: 'Lists the active seats of a license, newest first.',
    examples: ['hubctl seat list lic_01k8e7qk3vf2tb5s0w9m4x6ydz --all'],
    prints: { list: SEAT },
  })
    .argument('<licenseId>', 'the license, lic_…')
    .option('--all', 'released seats too')
    .addOption(maxOption());
  addWatch(listing).action(
    async (licenseId: string, { all, ...options }: ListingOptions & { all?: true }) => {
      const wanted = { licenseId, includeReleased: all === true };
      const pages = readPages(hub.admin.listSeats, wanted, 'seats', seatView);
      const none = all ? 'The license never had a seat.' : 'No seat is taken. See released ones with --all.';
      await printList(commandContext, { pages, columns: SEAT_COLUMNS, none }, options);
    },
  );

  addVerb(seat, 'release', {
    summary: 'release a seat',
    description:
      'Releases a seat, as the machine itself would. The machine can take a free seat again at any time.',
    examples: ['hubctl seat release seat_01k8e7v0c5eaxbgqm2tq1h9n3r'],
    prints: { document: SEAT },
  })
    .argument('<seatId>', 'the seat, seat_…')
    .action(async (seatId: string) => {
      const reply = await hub.admin.releaseSeat({ seatId });
      await out.record(seatView(reply.seat), SEAT_FIELDS);
    });
}
