// Identifiers: shortened in lists, in full on their page, linked to their page.
import { announce } from '../announce.ts';
import { linkToId } from '../route.ts';

/** Default of `text`: `chs_…dhf733z5`. The start encodes the time and differs little within a list. */
export function ShortId({ id, text = shortened(id) }: { readonly id: string; readonly text?: string }) {
  if (id === '') return null;
  const link = linkToId(id);
  if (link === undefined) return <code title={id}>{text}</code>;
  return (
    <a class="id" href={link} title={id}>
      <code>{text}</code>
    </a>
  );
}

function shortened(id: string): string {
  return id.length > 16 ? `${id.slice(0, id.indexOf('_') + 1)}…${id.slice(-8)}` : id;
}

export function WholeId({ id }: { readonly id: string }) {
  if (id === '') return null;
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(id);
    announce(`Copied ${id}`);
  };
  return (
    <span class="whole-id">
      <code>{id}</code>
      {/* Browsers allow clipboard access only on localhost or over TLS. */}
      {isSecureContext && (
        <button type="button" class="quiet" onClick={copy} aria-label={`Copy ${id}`}>
          Copy
        </button>
      )}
    </span>
  );
}

/** Text whose identifiers are links. */
export function WithLinks({ text }: { readonly text: string }) {
  const parts = text.split(/(\b(?:chs|use|ord|ofr|cb|lic|cus|evt|whe)_[0-9a-z]{26}\b)/);
  return <>{parts.map((part, index) => (index % 2 === 1 ? <ShortId key={part} id={part} /> : part))}</>;
}
