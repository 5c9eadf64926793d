// Removes email addresses from the answers of mail servers, which the hub stores and logs.

const ADDRESS = /[^\s<>()[\],;:"']+@[^\s<>()[\],;:"']+/g;
/** Shorter ones are words of an answer by chance. */
const MIN_LOCAL_PART = 3;

/** Replaces every address, and the local part of `address` wherever it stands alone. */
export function withoutAddresses(text: string, address: string): string {
  const [local = ''] = address.split('@');
  const hidden = text.replace(ADDRESS, '[address]');
  if (local.length < MIN_LOCAL_PART) return hidden;
  const escaped = local.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return hidden.replace(new RegExp(`(?<![\\p{L}\\p{N}])${escaped}(?![\\p{L}\\p{N}])`, 'giu'), '[address]');
}
