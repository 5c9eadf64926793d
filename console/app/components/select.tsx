// A choice with its label.

export type Choices = readonly (readonly [value: string, label: string])[];

type SelectProps = {
  readonly label: string;
  readonly choices: Choices;
  readonly value: string;
  readonly onChange: (value: string) => void;
};

export function Select({ label, choices, value, onChange }: SelectProps) {
  return (
    <label>
      <span>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {choices.map(([choice, text]) => (
          <option key={choice} value={choice}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
}
