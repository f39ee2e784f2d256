import { useId } from 'react'
import { TextField } from '../../design/fields.tsx'

/** The name of a model at its provider, with the names that the provider lists. */
export function ModelField({
  label,
  value,
  onChange,
  names,
  usual,
}: {
  readonly label: string
  readonly value: string
  readonly onChange: (model: string) => void
  readonly names: readonly string[]
  /** The model that is used if the field is empty; null if one must be entered. */
  readonly usual: string | null
}) {
  const list = useId()
  const count = names.length === 1 ? '1 model is' : `${names.length} models are`
  const unlisted =
    usual === null
      ? '“List models” asks the server.'
      : 'Leave this empty for the usual model; “List models” asks the provider.'
  return (
    <>
      <TextField
        label={label}
        value={value}
        onChange={onChange}
        list={list}
        placeholder={usual ?? 'the name of one of its models'}
        required={usual === null}
        hint={names.length > 0 ? `${count} known there.` : unlisted}
      />
      <datalist id={list}>
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  )
}
