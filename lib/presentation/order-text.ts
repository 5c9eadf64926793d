// What an order or a session sells, and what an order did to a license, as hubctl and the console show it.

/** `3 × demo/pro, version 2` */
export function soldText(sold: {
  readonly quantity: number;
  readonly offer: string;
  readonly offerVersion: number;
}): string {
  return `${sold.quantity} × ${sold.offer}, version ${sold.offerVersion}`;
}

/** `issued`, `renewed` or `5 seats added` */
export function grantedText(license: { readonly issued: boolean; readonly seatsAdded?: number }): string {
  const { issued, seatsAdded = 0 } = license;
  if (issued) return 'issued';
  if (seatsAdded === 0) return 'renewed';
  return seatsAdded === 1 ? '1 seat added' : `${seatsAdded} seats added`;
}
