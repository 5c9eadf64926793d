// Form fields, each with a label, a hint and its error.
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { type Choices, Options } from '../components/select.tsx';
import type { Form } from './form-state.ts';

type FieldProps<K extends string> = {
  readonly form: Form<K>;
  readonly name: K;
  readonly label: ComponentChildren;
  readonly hint?: ComponentChildren;
};

type FrameProps<K extends string> = FieldProps<K> & {
  readonly children: (control: ReturnType<typeof controlOf<K>>) => ComponentChildren;
};

/** The label, the hint and the error around a control, which refers to them. */
function Frame<K extends string>(props: FrameProps<K>) {
  const { form, name, label, hint, children } = props;
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(controlOf(id, props))}
      <Hint id={id}>{hint}</Hint>
      <ErrorText id={id}>{form.errors.fields.get(name)}</ErrorText>
    </div>
  );
}

function controlOf<K extends string>(id: string, { form, name, hint }: FieldProps<K>) {
  const hasError = form.errors.fields.has(name);
  return {
    id,
    value: form.values[name],
    onInput: ({ currentTarget }: { readonly currentTarget: { readonly value: string } }): void =>
      form.set(name, currentTarget.value),
    'aria-invalid': hasError,
    ...describedBy(id, hasError, hint !== undefined),
  };
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

const PLAIN = { autocomplete: 'off', spellcheck: false } as const;

type TextProps<K extends string> = FieldProps<K> & {
  readonly placeholder?: string;
  readonly maxLength?: number;
  readonly isRequired?: boolean;
};

export function TextField<K extends string>(props: TextProps<K>) {
  const { placeholder = '', maxLength, isRequired = false } = props;
  const own = { placeholder, maxLength, required: isRequired };
  return <Frame {...props}>{(control) => <input {...control} {...PLAIN} {...own} type="text" />}</Frame>;
}

/** A date and a time in UTC. */
export function TimeField<K extends string>(props: FieldProps<K>) {
  return <Frame {...props}>{(control) => <input {...control} type="datetime-local" step={1} />}</Frame>;
}

/** Several lines of text. */
export function AreaField<K extends string>(props: FieldProps<K> & { readonly placeholder?: string }) {
  const { placeholder = '' } = props;
  return (
    <Frame {...props}>
      {(control) => <textarea {...control} {...PLAIN} rows={3} placeholder={placeholder} />}
    </Frame>
  );
}

export function ChoiceField<K extends string>(props: FieldProps<K> & { readonly choices: Choices }) {
  return (
    <Frame {...props}>
      {(control) => (
        <select {...control}>
          <Options choices={props.choices} />
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
