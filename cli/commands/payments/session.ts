// hubctl session: charge sessions.
import type { Command } from 'commander';
import { CHARGE_STATUSES } from '../../../lib/presentation/enum-names.ts';
import { listSessionEvents } from '../../../lib/presentation/session-timeline.ts';
import type { CommandContext } from '../../command-context.ts';
import { addVerb, nounOf } from '../../command-help.ts';
import { NO_DEADLINE, readPages } from '../../connect/calls.ts';
import { usageError } from '../../errors/failure.ts';
import { addWatch, type ListingOptions, printList } from '../../output/watch-list.ts';
import { type WatchOptions, watchSession } from '../../output/watch-session.ts';
import { parseMoneyOption } from '../../parse/amount-option.ts';
import { omitUndefined } from '../../parse/omit-undefined.ts';
import { parseCount, parsePair, parseText } from '../../parse/parse-number.ts';
import { checkPeriod, timestampOf } from '../../parse/parse-time.ts';
import { addPeriod, choiceOption, maxOption, yesOption } from '../../parse/shared-options.ts';
import { VERIFICATION, VERIFICATION_COLUMNS, verificationView } from '../../views/payments/callback.ts';
import {
  CHARGE_SESSION,
  CHARGE_SESSION_COLUMNS,
  CHARGE_SESSION_FIELDS,
  CREATED_SESSION,
  CREATED_SESSION_FIELDS,
  chargeSessionView,
} from '../../views/payments/charge-session.ts';
import { moneyText } from '../../views/payments/money.ts';
import {
  commandsForOmitted,
  HISTORY_COLUMNS,
  RECHECKED_FIELDS,
  RECHECKED_SESSION,
  recheckedView,
  SESSION_HISTORY,
  SESSION_HISTORY_FIELDS,
  STATUS_CHANGE,
  STATUS_CHANGE_COLUMNS,
  sessionHistoryView,
  statusChangeView,
} from '../../views/payments/session-inspect.ts';
import { registerDuplicates } from './session-duplicates.ts';
import { addRefundVerb } from './session-refund.ts';

type CreateOptions = {
  slot: string;
  amount?: string;
  currency?: string;
  offer?: string;
  quantity?: number;
  license?: string;
  customerId?: string;
  returnUrl?: string;
  language?: string;
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

export const registerSession = nounOf(
  'session',
  'Attempts to charge a customer through the hosted checkout of a payment provider.',
  [
    addCreateVerb,
    addListVerb,
    addShowVerb,
    addInspectVerb,
    addListVerificationsVerb,
    addListChangesVerb,
    addWatchVerb,
    addReleaseVerb,
    addRecheckVerb,
    addRefundVerb,
    registerDuplicates,
  ],
);

function addCreateVerb(session: Command, { hub, out }: CommandContext): void {
  addVerb(session, 'create', {
    summary: 'create a charge session',
    description:
      'Creates a charge session and its checkout at the provider, and prints the checkout address for the customer. With an offer, the hub computes the amount, and the payment grants what the offer sells.',
    notes: [
      'With an offer or a return URL it also prints a claim token, which no other command shows. GET /v1/orders/{sessionId} shows the result and the license keys to its bearer.',
    ],
    examples: [
      'hubctl session create --slot main --amount 100.00 --currency BDT --order ORD-1 --output json',
      'hubctl session create --slot main --offer photo-lab/pro --currency BDT --customer-email ada@example.com --return-url https://shop.example.com/thanks',
    ],
    prints: { document: CREATED_SESSION },
  })
    .requiredOption('--slot <slot>', 'the payment slot to charge through')
    .option('--amount <decimal>', 'amount to charge: 100.00; required without an offer')
    .option('--currency <code>', 'ISO 4217 code: BDT; required without an offer, or if it has several prices')
    .option('--offer <offer>', 'the offer to sell, as app/slug or ofr_…')
    .option('--quantity <n>', 'how many units of the offer (default: 1)', parseCount)
    .option('--license <licenseId>', 'the license to renew or to add seats to, lic_…')
    .option('--customer-id <customerId>', 'the customer who owns the new licenses, cus_…')
    .option('--order <text>', 'your reference; does not have to be unique', parseText)
    .option('--customer-name <text>', 'who pays', parseText)
    .option(
      '--customer-email <address>',
      'email address of who pays; with an offer and without --customer-id, it finds or creates the customer',
      parseText,
    )
    .option('--customer-phone <number>', 'phone number of the customer', parseText)
    .option('--return-url <url>', "where the customer's browser returns to; the slot has to allow its origin")
    .option('--language <tag>', "language of the customer's mails: en, bn-BD", parseText)
    .option('--metadata <name=value>', 'your own data, kept with the session; repeatable', parsePair)
    .option('--idempotency-key <key>', 'a repeat with the same key returns the session of the first call')
    .action(async (options: CreateOptions) => {
      const request = createRequest(options);
      const { session: created, claimToken } = await hub.payments.createChargeSession(request, NO_DEADLINE);
      const view = { ...chargeSessionView(created), ...(claimToken !== '' && { claimToken }) };
      await out.record(view, CREATED_SESSION_FIELDS);
    });
}

/** @throws CliError (usage) */
function createRequest(options: CreateOptions) {
  const { slot, order, metadata = {}, idempotencyKey, returnUrl, language } = options;
  return {
    slot,
    ...chargeOf(options),
    orderReference: order ?? '',
    customer: {
      name: options.customerName ?? '',
      email: options.customerEmail ?? '',
      phone: options.customerPhone ?? '',
    },
    metadata,
    ...omitUndefined({ returnUrl, language, idempotencyKey }),
  };
}

/** The amount, or the offer whose price it is. @throws CliError (usage) */
function chargeOf({ amount, currency, offer, quantity, license, customerId }: CreateOptions) {
  if (offer === undefined) {
    const [needless] =
      Object.entries({ quantity, license, 'customer-id': customerId }).find(
        ([, value]) => value !== undefined,
      ) ?? [];
    if (needless !== undefined) throw usageError(`--${needless} needs an offer: give --offer.`);
    if (amount === undefined || currency === undefined)
      throw usageError('Give --amount and --currency, or --offer.');
    return { amount: parseMoneyOption(amount, currency) };
  }
  if (amount !== undefined && currency === undefined)
    throw usageError('--amount needs --currency. Omit it to charge the price of the offer.');
  const money =
    amount !== undefined && currency !== undefined ? parseMoneyOption(amount, currency) : undefined;
  return omitUndefined({ offer, quantity, currency, amount: money, licenseId: license, customerId });
}

function addListVerb(session: Command, commandContext: CommandContext): void {
  const { hub } = commandContext;
  const listing = addVerb(session, 'list', {
    summary: 'list charge sessions',
    description: 'Lists charge sessions, newest first. Filters combine with AND.',
    examples: [
      'hubctl session list --status pending --from 2026-03-01 --max 20',
      'hubctl session list --slot main --watch',
    ],
    prints: { list: CHARGE_SESSION },
  })
    .option('--slot <slot>', 'only of this slot')
    .addOption(choiceOption('--status <status>', 'only with this status', CHARGE_STATUSES))
    .option('--order <text>', 'only with exactly this order reference')
    .option('--held', 'only with a payment held for review because of its risk');
  addWatch(addPeriod(listing, 'those created').addOption(maxOption())).action(
    async ({ slot, status, held, order, from, to, ...options }: ListOptions) => {
      checkPeriod(from, to);
      const wanted = omitUndefined({
        slot,
        status: status && CHARGE_STATUSES[status],
        orderReference: order,
        held,
        createdFrom: from && timestampOf(from),
        createdTo: to && timestampOf(to),
      });
      const pages = readPages(hub.payments.listChargeSessions, wanted, 'sessions', chargeSessionView);
      const found = { pages, columns: CHARGE_SESSION_COLUMNS, none: 'No session matches.' };
      await printList(commandContext, found, options);
    },
  );
}

function addShowVerb(session: Command, { hub, out }: CommandContext): void {
  addVerb(session, 'show', {
    summary: 'show a charge session',
    description: 'Shows the current state of a charge session. `session inspect` shows its history.',
    examples: [`hubctl session show ${EXAMPLE_ID}`],
    prints: { document: CHARGE_SESSION },
  })
    .argument('<sessionId>', 'the session, chs_…')
    .action(async (sessionId: string) => {
      const reply = await hub.payments.getChargeSession({ sessionId });
      await out.record(chargeSessionView(reply.session), CHARGE_SESSION_FIELDS);
    });
}

function addInspectVerb(session: Command, { hub, out }: CommandContext): void {
  addVerb(session, 'inspect', {
    summary: 'show the whole history of a session',
    description:
      'Shows the history of a session in order: callbacks, verifications with their answers, the reason for its status, usage log entries with their fees, duplicate payments, the order with its licenses, and the first machines that activated them. Shows the newest 50 callbacks, verifications and status changes, and names the commands that list the rest.',
    examples: [`hubctl session inspect ${EXAMPLE_ID}`],
    prints: { document: SESSION_HISTORY },
  })
    .argument('<sessionId>', 'the session, chs_…')
    .action(async (sessionId: string) => {
      const { firstMachines } = await import('../../../lib/presentation/first-machines.ts');
      const { withOrder } = await import('../../../lib/presentation/session-with-order.ts');
      const inspected = await hub.payments.inspectChargeSession({ sessionId });
      const reply = await withOrder(inspected, hub.orders.getOrder);
      const machines = await firstMachines(reply.order, hub.admin.listSeats);
      const history = sessionHistoryView(reply, machines);
      await out.record(history, SESSION_HISTORY_FIELDS);
      await out.below(listSessionEvents(reply, machines), HISTORY_COLUMNS);
      const omitted = commandsForOmitted(history);
      if (omitted.length > 0 && !out.json()) await out.text(`\n${omitted.join('\n')}\n`);
    });
}

function addListVerificationsVerb(session: Command, { hub, out }: CommandContext): void {
  addVerb(session, 'list-verifications', {
    summary: 'list the verifications of a session',
    description: 'Lists the calls to the provider about a session and the answers, newest first.',
    examples: [`hubctl session list-verifications ${EXAMPLE_ID} --max 20`],
    prints: { list: VERIFICATION },
  })
    .argument('<sessionId>', 'the session, chs_…')
    .addOption(maxOption())
    .action(async (sessionId: string, { max }: { max?: number }) => {
      const wanted = { sessionId };
      const pages = readPages(hub.payments.listVerifications, wanted, 'verifications', verificationView);
      await out.list(pages(max), VERIFICATION_COLUMNS, { none: 'The session has no verifications yet.' });
    });
}

function addListChangesVerb(session: Command, { hub, out }: CommandContext): void {
  addVerb(session, 'list-changes', {
    summary: 'list the status changes of a session',
    description: 'Lists the status changes of a session, newest first, as far back as the audit log reaches.',
    examples: [`hubctl session list-changes ${EXAMPLE_ID}`],
    prints: { list: STATUS_CHANGE },
  })
    .argument('<sessionId>', 'the session, chs_…')
    .addOption(maxOption())
    .action(async (sessionId: string, { max }: { max?: number }) => {
      const wanted = { sessionId };
      const pages = readPages(hub.payments.listStatusChanges, wanted, 'statusChanges', statusChangeView);
      await out.list(pages(max), STATUS_CHANGE_COLUMNS, {
        none: 'The status of this session has not changed yet.',
      });
    });
}

function addWatchVerb(session: Command, commandContext: CommandContext): void {
  addVerb(session, 'watch', {
    summary: 'print each change of a session',
    description:
      'Prints the status of a session now and after each change, one line each, until Ctrl-C. A status from a callback alone is not final, since a callback can be forged: the hub verifies it with the provider on its schedule, or at once with `session recheck`.',
    examples: [`hubctl session watch ${EXAMPLE_ID} --until-final`],
    prints: { lines: CHARGE_SESSION },
  })
    .argument('<sessionId>', 'the session, chs_…')
    .option('--until-final', 'exit when the provider has confirmed success, failed or cancelled')
    .action((sessionId: string, options: WatchOptions) => watchSession(commandContext, sessionId, options));
}

function addReleaseVerb(session: Command, { hub, out, requireYes }: CommandContext): void {
  addVerb(session, 'release', {
    summary: 'release a session that is held for review',
    description:
      'Releases a session whose payment is held because the provider rates it risky, and verifies it again: the session settles if the payment is still valid. Asks for confirmation; without a terminal it requires --yes.',
    examples: [`hubctl session release ${EXAMPLE_ID} --reason "customer known, order 1183" --yes`],
    prints: { document: CHARGE_SESSION },
  })
    .argument('<sessionId>', 'the session, chs_…')
    .requiredOption('--reason <text>', 'reason, kept in the audit log')
    .addOption(yesOption())
    .action(async (sessionId: string, { reason, yes }: { reason: string; yes?: true }) => {
      const question = async () => {
        const reply = await hub.payments.getChargeSession({ sessionId });
        const view = chargeSessionView(reply.session);
        return `Release ${sessionId} of ${moneyText(view)}, ${view.statusReason}?`;
      };
      await requireYes({ yes, verb: 'release', question, otherwise: 'Nothing was released.' });
      const reply = await hub.paymentAdmin.releaseChargeSession({ sessionId, reason }, NO_DEADLINE);
      const view = chargeSessionView(reply.session);
      await out.record(view, CHARGE_SESSION_FIELDS);
      if (reply.unchanged) out.note('Nothing changed: the session was already released.');
      if (view.status === 'pending') out.note('The hub will retry the verification.');
    });
}

function addRecheckVerb(session: Command, { hub, out }: CommandContext): void {
  addVerb(session, 'recheck', {
    summary: 'verify a session with the provider now',
    description:
      'Verifies a session with its provider and settles it by the answer. For a paid session it also looks for refunds, disputes, reversals and duplicate payments. The hub also looks for those by itself, less often as the payment gets older.',
    examples: [`hubctl session recheck ${EXAMPLE_ID}`],
    prints: { document: RECHECKED_SESSION },
  })
    .argument('<sessionId>', 'the session, chs_…')
    .action(async (sessionId: string) => {
      await out.record(
        recheckedView(await hub.payments.recheckChargeSession({ sessionId }, NO_DEADLINE)),
        RECHECKED_FIELDS,
      );
    });
}
