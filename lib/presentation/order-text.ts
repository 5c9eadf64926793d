// What an order or a session sells, and what an order did to a license, as hubctl and the console show it.

/** `3 × demo/pro, version 2` */
export function soldText(sold: {
  readonly quantity: number;
  readonly offer: string;
  readonly offerVersion: number;
}): string {
  return `${sold.quantity} × ${sold.offer}, version ${sold.offerVersion}`;
}
