import { useId } from 'react'
import type { ReactNode } from 'react'
import { CopyButton } from './copy-button.tsx'

interface Labelled {
  readonly label: string
  /** A hint below the field about its content. */
  readonly hint?: ReactNode
}

function Field({
  id,
  label,
  hint,
  children,
}: Labelled & { readonly id: string; readonly children: ReactNode }) {
  return (
    <div className="form-field">
      <label htmlFor={id}>{label}</label>
      {children}
      {hint !== undefined && (
        <span id={`${id}-hint`} className="small muted">
          {hint}
        </span>
      )}
    </div>
  )
}

/** Returns the properties that all form controls share. Pure. */
function controlOf({
  id,
  hint,
  value,
  onChange,
}: {
  readonly id: string
  readonly hint: Labelled['hint']
  readonly value: string
  readonly onChange: (value: string) => void
}) {
  return {
    id,
    'aria-describedby': hint === undefined ? undefined : `${id}-hint`,
    className: 'input',
    value,
    onChange: (event: { readonly target: { readonly value: string } }) => onChange(event.target.value),
  }
}

export function TextField({
  label,
  hint,
  value,
  onChange,
  ...rest
}: Labelled & {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly type?: 'text' | 'password' | 'number' | 'url'
  readonly placeholder?: string
  readonly maxLength?: number
  readonly min?: number
  readonly max?: number
  readonly step?: number | 'any'
  readonly required?: boolean
  readonly list?: string
}) {
  const id = useId()
  return (
    <Field id={id} label={label} hint={hint}>
      <input
        {...controlOf({ id, hint, value, onChange })}
        // The browser must not remember values for the mesh.
        autoComplete="off"
        spellCheck={false}
        {...rest}
      />
    </Field>
  )
}

export function AreaField({
  label,
  hint,
  value,
  onChange,
  ...rest
}: Labelled & {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly rows?: number
  readonly maxLength?: number
  readonly placeholder?: string
}) {
  const id = useId()
  return (
    <Field id={id} label={label} hint={hint}>
      <textarea {...controlOf({ id, hint, value, onChange })} {...rest} />
    </Field>
  )
}

/**
 * A choice of one option. With `unchosen` no option is selected at first: the value is empty, and a form requires
 * a choice.
 */
export function ChoiceField<const Value extends string>({
  label,
  hint,
  value,
  onChange,
  choices,
  unchosen,
}: Labelled & {
  readonly value: Value | ''
  readonly onChange: (value: Value) => void
  /** Choices whose value is also their label, or pairs of value and label. */
  readonly choices: readonly (Value | readonly [value: Value, words: string])[]
  readonly unchosen?: string
}) {
  const id = useId()
  const all = choices.map((choice) => (typeof choice === 'string' ? ([choice, choice] as const) : choice))
  const choose = (typed: string): void => {
    const chosen = all.find(([one]) => one === typed)
    if (chosen) onChange(chosen[0])
  }
  return (
    <Field id={id} label={label} hint={hint}>
      <select {...controlOf({ id, hint, value, onChange: choose })} required={unchosen !== undefined}>
        {unchosen !== undefined && (
          <option value="" disabled>
            {unchosen}
          </option>
        )}
        {all.map(([choice, label]) => (
          <option key={choice} value={choice}>
            {label}
          </option>
        ))}
      </select>
    </Field>
  )
}

export function TickField({
  label,
  checked,
  onChange,
}: {
  readonly label: string
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
}) {
  return (
    <label className="row tick">
      <input type="checkbox" checked={checked} onChange={(event) => onChange(event.target.checked)} />
      <span>{label}</span>
    </label>
  )
}

/** Shows a secret once; the page forgets the secret when it is closed. */
export function SecretOnce({
  title,
  secret,
  children,
  onClose,
}: {
  readonly title: string
  readonly secret: string
  readonly children?: ReactNode
  readonly onClose: () => void
}) {
  return (
    <div className="note warn" role="status">
      <strong>{title}</strong>
      <span>This secret is shown only once. Copy it to its destination before you close this.</span>
      <code className="secret mono">{secret}</code>
      {children}
      <div className="row">
        <CopyButton text={secret} />
        <button type="button" className="button small" onClick={onClose}>
          I have it
        </button>
      </div>
    </div>
  )
}
