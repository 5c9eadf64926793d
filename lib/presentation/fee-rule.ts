// Fee rules as text, for hubctl and the console.

export type FeeTerms = {
  /** `1.50` */
  readonly percent: string;
  /** `2.00 BDT` */
  readonly fixed?: string | undefined;
  readonly min?: string | undefined;
  readonly max?: string | undefined;
};

/** `1.50 % + 2.00 BDT, at least 5.00 BDT` */
export function feeTermsText({ percent, fixed, min, max }: FeeTerms): string {
  const rate = fixed === undefined ? `${percent} %` : `${percent} % + ${fixed}`;
  return [rate, min && `at least ${min}`, max && `at most ${max}`].filter(Boolean).join(', ');
}

/** `1.50` from 150 basis points. */
export function percentText(basisPoints: number): string {
  return (basisPoints / 100).toFixed(2);
}

/** The payments that the rule applies to: `main, BDT`. A missing or empty part does not limit them. */
export function feeRuleScope(rule: { readonly [part in 'slot' | 'gateway' | 'currency']?: string }): string {
  return [rule.slot, rule.gateway, rule.currency].filter(Boolean).join(', ') || 'all payments';
}
