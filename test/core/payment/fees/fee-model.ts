// A reference model of fee rule selection, in the order of docs/how-to/change-fees.md.
import type { FeeRuleFacts, FeeSubject } from '../../../../core/payment/fees/rules.ts';

type Rule = Omit<FeeRuleFacts, 'fixedMinor' | 'minMinor' | 'maxMinor' | 'basisPoints' | 'id' | 'name'>;

/** The one of the rules with one name that applies to a payment, by striking out all others. */
export function expectedRule<R extends Rule>(rules: readonly R[], payment: FeeSubject): R | undefined {
  const valid = rules.filter(
    ({ validFrom, validTo }) => payment.at >= validFrom && !(validTo && payment.at >= validTo),
  );
  const central = strikeOut(
    valid.filter(({ addedBySlot }) => !addedBySlot),
    payment,
  );
  return central && !central.slotsMayOverride ? central : strikeOut(valid, payment);
}

const SCOPES: readonly ((rule: Rule, payment: FeeSubject) => boolean)[] = [
  (rule, { slotId, currency }) => rule.slotId === slotId && rule.currency === currency,
  (rule, { slotId }) => rule.slotId === slotId && rule.currency === null,
  (rule, { gateway, currency }) => isOf(rule, gateway) && rule.currency === currency,
  (rule, { gateway }) => isOf(rule, gateway) && rule.currency === null,
  (rule, { currency }) => isOf(rule, null) && rule.currency === currency,
  (rule) => isOf(rule, null) && rule.currency === null,
];

const isOf = (rule: Rule, gateway: string | null) => rule.slotId === null && rule.gateway === gateway;

function strikeOut<R extends Rule>(rules: readonly R[], payment: FeeSubject): R | undefined {
  for (const isOfScope of SCOPES) {
    let left = rules.filter((rule) => isOfScope(rule, payment));
    if (left.some(({ declaredTo }) => declaredTo)) left = left.filter(({ declaredTo }) => declaredTo);
    const shortest = Math.min(...left.map(lengthOf));
    left = left.filter((rule) => !rule.declaredTo || lengthOf(rule) === shortest);
    const newest = Math.max(...left.map(({ version }) => version));
    const found = left.find(({ version }) => version === newest);
    if (found) return found;
  }
  return undefined;
}

function lengthOf({ validFrom, declaredTo }: Rule): number {
  return Number(declaredTo ?? Number.MAX_SAFE_INTEGER) - Number(validFrom);
}
