// Checkboxes: several of a list, or one to switch something on.
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { readNames } from './field-values.ts';
import { describedBy, ErrorText, Hint } from './fields.tsx';
import type { Form } from './form-state.ts';

export type Check = {
  readonly value: string;
  readonly hint?: string;
  /** Values that include this one. It cannot be chosen beside them. */
  readonly coveredBy?: readonly string[];
};

type ChecksProps<K extends string> = {
  readonly form: Form<K>;
  /** Its value is the chosen names, see `namesText`. */
  readonly name: K;
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly checks: readonly Check[];
};

export function ChecksField<K extends string>({ form, name, label, hint, checks }: ChecksProps<K>) {
  const id = useId();
  const chosen = new Set(readNames(form.values[name]));
  const error = form.errors.fields.get(name);
  const choose = (value: string, isChosen: boolean): void => {
    const covered = checks.filter(({ coveredBy }) => coveredBy?.includes(value)).map((check) => check.value);
    const others = [...chosen].filter((each) => each !== value && !(isChosen && covered.includes(each)));
    form.set(name, namesText(isChosen ? [...others, value] : others));
  };
  return (
    <fieldset class="field checks" {...describedBy(id, error !== undefined, hint !== undefined)}>
      <legend>{label}</legend>
      <Hint id={id}>{hint}</Hint>
      <div class="picks">
        {checks.map(({ value, hint: meaning, coveredBy }, index) => {
          const isCovered = coveredBy?.some((each) => chosen.has(each)) ?? false;
          return (
            <label key={value} class="pick">
              <input
                type="checkbox"
                checked={isCovered || chosen.has(value)}
                disabled={isCovered}
                aria-invalid={index === 0 && error !== undefined}
                onChange={(event) => choose(value, event.currentTarget.checked)}
              />
              <span>
                <code>{value}</code> {meaning !== undefined && <span class="muted">{meaning}</span>}
              </span>
            </label>
          );
        })}
      </div>
      <ErrorText id={id}>{error}</ErrorText>
    </fieldset>
  );
}

/** The value of a ChecksField with these names chosen. */
export function namesText(names: readonly string[]): string {
  return [...names].sort().join(' ');
}

type SwitchProps<K extends string> = {
  readonly form: Form<K>;
  /** Its value is `yes` or empty. */
  readonly name: K;
  readonly label: string;
  readonly hint: string;
};

export function SwitchField<K extends string>({ form, name, label, hint }: SwitchProps<K>) {
  const id = useId();
  return (
    <div class="field">
      <label class="pick">
        <input
          type="checkbox"
          checked={form.values[name] !== ''}
          aria-describedby={`${id}-hint`}
          onChange={(event) => form.set(name, event.currentTarget.checked ? 'yes' : '')}
        />
        <span>{label}</span>
      </label>
      <Hint id={id}>{hint}</Hint>
    </div>
  );
}
