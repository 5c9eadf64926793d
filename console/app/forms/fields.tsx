// Form fields, each with a label, a hint and its error.
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import type { Form } from './form-state.ts';

type FieldProps<K extends string> = {
  readonly form: Form<K>;
  readonly name: K;
  readonly label: ComponentChildren;
  readonly hint?: ComponentChildren;
};

type FrameProps<K extends string> = FieldProps<K> & {
  readonly children: (control: ReturnType<typeof controlOf>) => ComponentChildren;
};

/** The label, the hint and the error around a control, which refers to them. */
function Frame<K extends string>({ form, name, label, hint, children }: FrameProps<K>) {
  const id = useId();
  const error = form.errors.fields.get(name);
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(controlOf(id, error !== undefined, hint !== undefined))}
      <Hint id={id}>{hint}</Hint>
      <ErrorText id={id}>{error}</ErrorText>
    </div>
  );
}

function controlOf(id: string, hasError: boolean, hasHint: boolean) {
  return { id, 'aria-invalid': hasError, ...describedBy(id, hasError, hasHint) };
}

/** Refers to the hint and to the error of the field with this id. */
export function describedBy(id: string, hasError: boolean, hasHint: boolean) {
  const about = [hasError && `${id}-error`, hasHint && `${id}-hint`].filter(Boolean).join(' ');
  return about && { 'aria-describedby': about };
}

type AboutProps = { readonly id: string; readonly children: ComponentChildren };

export function Hint({ id, children }: AboutProps) {
  if (children === undefined) return null;
  return (
    <div class="hint" id={`${id}-hint`}>
      {children}
    </div>
  );
}

export function ErrorText({ id, children }: AboutProps) {
  if (children === undefined) return null;
  return (
    <div class="field-error" id={`${id}-error`}>
      {children}
    </div>
  );
}

type TextProps<K extends string> = FieldProps<K> & {
  readonly placeholder?: string;
  readonly maxLength?: number;
  readonly isRequired?: boolean;
};

export function TextField<K extends string>(props: TextProps<K>) {
  const { form, name, placeholder = '', maxLength, isRequired = false } = props;
  return (
    <Frame {...props}>
      {(control) => (
        <input
          {...control}
          type="text"
          value={form.values[name]}
          placeholder={placeholder}
          required={isRequired}
          autocomplete="off"
          spellcheck={false}
          maxLength={maxLength}
          onInput={(event) => form.set(name, event.currentTarget.value)}
        />
      )}
    </Frame>
  );
}

/** A date and a time in UTC. */
export function TimeField<K extends string>(props: FieldProps<K>) {
  const { form, name } = props;
  return (
    <Frame {...props}>
      {(control) => (
        <input
          {...control}
          type="datetime-local"
          step={1}
          value={form.values[name]}
          onInput={(event) => form.set(name, event.currentTarget.value)}
        />
      )}
    </Frame>
  );
}

/** Several lines of text. */
export function AreaField<K extends string>(props: FieldProps<K> & { readonly placeholder?: string }) {
  const { form, name, placeholder = '' } = props;
  return (
    <Frame {...props}>
      {(control) => (
        <textarea
          {...control}
          rows={3}
          value={form.values[name]}
          placeholder={placeholder}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => form.set(name, event.currentTarget.value)}
        />
      )}
    </Frame>
  );
}

type ChoiceProps<K extends string> = FieldProps<K> & {
  readonly choices: readonly (readonly [value: string, label: string])[];
};

export function ChoiceField<K extends string>(props: ChoiceProps<K>) {
  const { form, name, choices } = props;
  return (
    <Frame {...props}>
      {(control) => (
        <select
          {...control}
          value={form.values[name]}
          onChange={(event) => form.set(name, event.currentTarget.value)}
        >
          {choices.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Frame>
  );
}

/** A statement of what submitting the form does. */
export function Effect({ children }: { readonly children: ComponentChildren }) {
  return (
    <div class="effect" aria-live="polite">
      {children}
    </div>
  );
}
