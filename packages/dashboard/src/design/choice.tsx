/** A selection field for a filter: one of a few values, or `any`, whose value is empty. */
export function Choice({
  name,
  value,
  of,
  words = {},
  onChange,
}: {
  readonly name: string
  readonly value: string
  readonly of: readonly string[]
  /** How values are called that have another name on the page. */
  readonly words?: Readonly<Record<string, string>>
  readonly onChange: (value: string) => void
}) {
  return (
    <select
      className="input"
      aria-label={name}
      value={value}
      onChange={(event) => onChange(event.target.value)}
    >
      <option value="">{name}: any</option>
      {of.map((one) => (
        <option key={one} value={one}>
          {words[one] ?? one}
        </option>
      ))}
    </select>
  )
}
