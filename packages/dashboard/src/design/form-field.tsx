import type { ReactNode } from 'react'
import './form-dialog.css'

/** A field with its label above and an optional hint below. */
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
