import type { ReactNode } from 'react'
import './form-dialog.css'

/** A field with its name above it and, where it helps, a sentence below. */
export function FormField({
  label,
  hint,
  children,
}: {
  readonly label: string
  readonly hint?: ReactNode
  readonly children: ReactNode
}) {
  return (
    <label className="form-field">
      <span>{label}</span>
      {children}
      {hint !== undefined && <span className="small muted">{hint}</span>}
    </label>
  )
}
