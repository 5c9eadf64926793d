// Text to copy: a read-only field, and a button where the browser allows it.
import { announce } from '../announce.ts';

export type CopyTextProps = {
  readonly label: string;
  /** Names the text on the button: `the key`. */
  readonly what: string;
  readonly lines: readonly string[];
};

const MAX_ROWS = 12;

export function CopyText({ label, what, lines }: CopyTextProps) {
  const text = lines.join('\n');
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text);
    announce(`Copied ${what}`);
  };
  return (
    <div class="keys">
      <label>
        <span>{label}</span>
        <textarea readOnly rows={Math.min(lines.length, MAX_ROWS)} value={text} />
      </label>
      {/* Browsers allow clipboard access only on localhost or over TLS. */}
      {isSecureContext && (
        <button type="button" onClick={copy}>
          Copy {what}
        </button>
      )}
    </div>
  );
}
