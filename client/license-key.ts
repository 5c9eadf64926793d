// License keys, as far as a client looks at them.

/** Whether two typings are of one key: case, spaces and dashes do not matter; O, I and L are read as 0, 1 and 1. */
export function isSameKey(one: string, other: string): boolean {
  return bare(one) === bare(other);
}

function bare(licenseKey: string): string {
  return licenseKey
    .replace(/[^0-9A-Za-z]/g, '')
    .toUpperCase()
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1');
}
