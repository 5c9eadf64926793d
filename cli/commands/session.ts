// hubctl session: charges customers, and tells what came of it.
import { type Command, Option } from 'commander';
import { storyOf } from '../../story/session-story.ts';
import { CHARGE_STATUSES } from '../../story/words.ts';
import { checkPeriod, timestampOf } from '../calendar.ts';
import { NO_DEADLINE } from '../call-options.ts';
import { requireYes } from '../confirm.ts';
import { addNoun, addVerb } from '../manual.ts';
import { pages } from '../pages.ts';
import { addPair, parseText } from '../quantities.ts';
import { part } from '../reply.ts';
import { list } from '../shapes.ts';
import { addPeriod, maxOption, yesOption } from '../shared-options.ts';
import type { Tools } from '../tools.ts';
import { typedMoney } from '../typed-amount.ts';
import { VERIFICATION, VERIFICATION_COLUMNS, verificationView } from '../views/callback.ts';
import {
  CHARGE_SESSION,
  CHARGE_SESSION_COLUMNS,
  CHARGE_SESSION_FIELDS,
  type ChargeSessionView,
  chargeSessionView,
} from '../views/charge-session.ts';
import { moneyText } from '../views/money.ts';
import {
  leftOutOf,
  RECHECKED_FIELDS,
  RECHECKED_SESSION,
  recheckedView,
  SESSION_STORY,
  SESSION_STORY_FIELDS,
  STATUS_CHANGE,
  STATUS_CHANGE_COLUMNS,
  STORY_COLUMNS,
  sessionStoryView,
  statusChangeView,
} from '../views/session-story.ts';
import { addWatch, type ListingOptions, printList } from '../watch-list.ts';
import { type WatchOptions, watchSession } from '../watch-session.ts';
import { registerDuplicates } from './session-duplicates.ts';

type CreateOptions = {
  slot: string;
  amount: string;
  currency: string;
  order?: string;
  customerName?: string;
  customerEmail?: string;
  customerPhone?: string;
  metadata?: Record<string, string>;
  idempotencyKey?: string;
};

type ListOptions = ListingOptions & {
  slot?: string;
  status?: keyof typeof CHARGE_STATUSES;
  held?: true;
  order?: string;
  from?: Date;
  to?: Date;
};

const EXAMPLE_ID = 'chs_01k8e7qk3vf2tb5s0w9m4x6ydz';

export function registerSession(program: Command, tools: Tools): void {
  const { hub, out } = tools;
  const session = addNoun(program, 'session', {
    group: 'Payments:',
    summary: 'charge sessions',
    description: 'Attempts to charge a customer through the hosted checkout of a payment provider.',
  });

  addVerb(session, 'create', {
    summary: 'create a charge session',
    description:
      'Creates a charge session and its checkout at the provider, and prints where the customer pays.',
    examples: [
      'hubctl session create --slot main --amount 100.00 --currency BDT --order ORD-1 --output json',
    ],
    prints: { document: CHARGE_SESSION },
  })
    .requiredOption('--slot <slot>', 'the payment slot to charge through')
    .requiredOption('--amount <decimal>', 'what to charge: 100.00')
    .requiredOption('--currency <code>', 'ISO 4217 code: BDT')
    .option('--order <text>', 'your own reference; need not be unique', parseText)
    .option('--customer-name <text>', 'who pays', parseText)
    .option('--customer-email <address>', 'e-mail address of the customer', parseText)
    .option('--customer-phone <number>', 'phone number of the customer', parseText)
    .option('--metadata <name=value>', 'data of your own, kept with the session; repeatable', addPair)
    .option('--idempotency-key <key>', 'a repeat with the same key returns the session of the first call')
    .action(async (options: CreateOptions) => {
      const { order, metadata = {}, idempotencyKey } = options;
      const request = {
        slot: options.slot,
        amount: typedMoney(options.amount, options.currency),
        orderReference: order ?? '',
        customer: {
          name: options.customerName ?? '',
          email: options.customerEmail ?? '',
          phone: options.customerPhone ?? '',
        },
        metadata,
        ...(idempotencyKey !== undefined && { idempotencyKey }),
      };
      const { payments } = await hub('payments');
      const reply = await payments.createChargeSession(request, NO_DEADLINE);
      await out.record(chargeSessionView(part(reply.session, 'session')), CHARGE_SESSION_FIELDS);
    });

  const listing = addVerb(session, 'list', {
    summary: 'list charge sessions',
    description: 'Lists charge sessions, newest first; what is given has to match all at once.',
    examples: [
      'hubctl session list --status pending --from 2026-03-01 --max 20',
      'hubctl session list --slot main --watch',
    ],
    prints: { document: list(CHARGE_SESSION) },
  })
    .option('--slot <slot>', 'only those of this slot')
    .addOption(
      new Option('--status <status>', 'only those in this status').choices(Object.keys(CHARGE_STATUSES)),
    )
    .option('--order <text>', 'only those with exactly this order reference')
    .option('--held', 'only those whose payment is held for review, because of its risk');
  addWatch(addPeriod(listing, 'those created').addOption(maxOption())).action(
    async ({ slot, status, held, order, from, to, ...options }: ListOptions) => {
      checkPeriod(from, to);
      const { payments } = await hub('payments');
      const wanted = {
        ...(slot !== undefined && { slot }),
        ...(status !== undefined && { status: CHARGE_STATUSES[status] }),
        ...(order !== undefined && { orderReference: order }),
        ...(held && { held }),
        ...(from !== undefined && { createdFrom: timestampOf(from) }),
        ...(to !== undefined && { createdTo: timestampOf(to) }),
      };
      const fetchPage = async (page: { pageSize: number; pageToken: string }) => {
        const { sessions, nextPageToken } = await payments.listChargeSessions({ ...wanted, ...page });
        return { items: sessions.map(chargeSessionView), next: nextPageToken };
      };
      const listed = {
        pages: (max: number | undefined) => pages(fetchPage, max),
        columns: CHARGE_SESSION_COLUMNS,
        id: (item: ChargeSessionView) => item.sessionId,
        newestFirst: true,
        none: 'No session matches.',
      };
      await printList(tools, listed, options);
    },
  );

  addVerb(session, 'show', {
    summary: 'show a charge session',
    description: 'Shows a charge session as it is now. What led to it, `session inspect` tells.',
    examples: [`hubctl session show ${EXAMPLE_ID}`],
    prints: { document: CHARGE_SESSION },
  })
    .argument('<sessionId>', 'the session, chs_…')
    .action(async (sessionId: string) => {
      const { payments } = await hub('payments');
      const reply = await payments.getChargeSession({ sessionId });
      await out.record(chargeSessionView(part(reply.session, 'session')), CHARGE_SESSION_FIELDS);
    });

  addVerb(session, 'inspect', {
    summary: 'tell the whole story of a session',
    description:
      'Tells what happened to a session, in order: its callbacks, what the provider was asked and answered, the reason for its status, its usage log entries with their fees, and duplicate payments. Shows the newest 50 callbacks, questions and status changes, and names the commands that list the rest.',
    examples: [`hubctl session inspect ${EXAMPLE_ID}`],
    prints: { document: SESSION_STORY },
  })
    .argument('<sessionId>', 'the session, chs_…')
    .action(async (sessionId: string) => {
      const { payments } = await hub('payments');
      const reply = await payments.inspectChargeSession({ sessionId });
      const story = sessionStoryView(reply);
      await out.record(story, SESSION_STORY_FIELDS);
      if (out.json()) return;
      await out.text('\n');
      await out.list([storyOf(reply)], STORY_COLUMNS);
      const leftOut = leftOutOf(story);
      if (leftOut.length > 0) await out.text(`\n${leftOut.join('\n')}\n`);
    });

  addVerb(session, 'list-verifications', {
    summary: 'list what the provider was asked about a session',
    description: 'Lists what the provider was asked about a session and what it answered, newest first.',
    examples: [`hubctl session list-verifications ${EXAMPLE_ID} --max 20`],
    prints: { document: list(VERIFICATION) },
  })
    .argument('<sessionId>', 'the session, chs_…')
    .addOption(maxOption())
    .action(async (sessionId: string, { max }: { max?: number }) => {
      const { payments } = await hub('payments');
      const fetchPage = async (page: { pageSize: number; pageToken: string }) => {
        const { verifications, nextPageToken } = await payments.listVerifications({ sessionId, ...page });
        return { items: verifications.map(verificationView), next: nextPageToken };
      };
      const count = await out.list(pages(fetchPage, max), VERIFICATION_COLUMNS);
      if (count === 0) out.note('The provider was not asked about this session yet.');
    });

  addVerb(session, 'list-changes', {
    summary: 'list the changes of the status of a session',
    description:
      'Lists how the status of a session came about, newest first, as far as the audit log goes back.',
    examples: [`hubctl session list-changes ${EXAMPLE_ID}`],
    prints: { document: list(STATUS_CHANGE) },
  })
    .argument('<sessionId>', 'the session, chs_…')
    .addOption(maxOption())
    .action(async (sessionId: string, { max }: { max?: number }) => {
      const { payments } = await hub('payments');
      const fetchPage = async (page: { pageSize: number; pageToken: string }) => {
        const { statusChanges, nextPageToken } = await payments.listStatusChanges({ sessionId, ...page });
        return { items: statusChanges.map(statusChangeView), next: nextPageToken };
      };
      const count = await out.list(pages(fetchPage, max), STATUS_CHANGE_COLUMNS);
      if (count === 0) out.note('The status of this session has not changed yet.');
    });

  addVerb(session, 'watch', {
    summary: 'print each change of a session',
    description:
      'Prints the status of a session now and after each change, a line each, until Ctrl-C. What only a callback said may be forged, and is not final: the hub asks the provider about it on its schedule, or at once with `session recheck`.',
    examples: [`hubctl session watch ${EXAMPLE_ID} --until-final`],
    prints: { lines: CHARGE_SESSION },
  })
    .argument('<sessionId>', 'the session, chs_…')
    .option(
      '--until-final',
      'end once the provider itself has said that the session is success, failed or cancelled',
    )
    .action((sessionId: string, options: WatchOptions) => watchSession(tools, sessionId, options));

  addVerb(session, 'release', {
    summary: 'release a session that is held for review',
    description:
      'Releases a session whose payment is held because the provider rates it risky, and asks the provider again: the session settles if the payment still stands. Asks first; off a terminal it wants --yes.',
    examples: [`hubctl session release ${EXAMPLE_ID} --reason "customer known, order 1183" --yes`],
    prints: { document: CHARGE_SESSION },
  })
    .argument('<sessionId>', 'the session, chs_…')
    .requiredOption('--reason <text>', 'why, for the record')
    .addOption(yesOption())
    .action(async (sessionId: string, { reason, yes }: { reason: string; yes?: true }) => {
      const question = async () => {
        const { payments } = await hub('payments');
        const reply = await payments.getChargeSession({ sessionId });
        const view = chargeSessionView(part(reply.session, 'session'));
        return `Release ${sessionId} of ${moneyText(view)}, ${view.statusReason}?`;
      };
      await requireYes(tools, { yes, verb: 'release', question, otherwise: 'Nothing was released.' });
      const { paymentAdmin } = await hub('paymentAdmin');
      const reply = await paymentAdmin.releaseChargeSession({ sessionId, reason }, NO_DEADLINE);
      const view = chargeSessionView(part(reply.session, 'session'));
      await out.record(view, CHARGE_SESSION_FIELDS);
      if (reply.unchanged) out.note('Nothing changed: the session was released before.');
      if (view.status === 'pending') out.note('The hub asks the provider again by itself.');
    });

  addVerb(session, 'recheck', {
    summary: 'ask the provider now',
    description:
      'Asks the provider what became of a session, and settles the session by its answer. The only way by which a paid session is found to be reversed. Of a paid session it also looks for duplicate payments.',
    examples: [`hubctl session recheck ${EXAMPLE_ID}`],
    prints: { document: RECHECKED_SESSION },
  })
    .argument('<sessionId>', 'the session, chs_…')
    .action(async (sessionId: string) => {
      const { payments } = await hub('payments');
      await out.record(
        recheckedView(await payments.recheckChargeSession({ sessionId }, NO_DEADLINE)),
        RECHECKED_FIELDS,
      );
    });

  registerDuplicates(session, tools);
}
