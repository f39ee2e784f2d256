import { Dialog, DialogHeading } from '@ariakit/react/dialog'
import { useState } from 'react'
import type { ReactNode } from 'react'
import { DiffView } from './diff-view.tsx'
import './form-dialog.css'

/** A dialog that edits fields, shows the difference, and saves. */
export function EditDialog({
  title,
  before,
  after,
  fault,
  isIncomplete = false,
  busy,
  children,
  onSave,
  onClose,
}: {
  readonly title: string
  /** Both values as lines, which the dialog compares. */
  readonly before: string
  readonly after: string
  /** The error of the current input; null if it is valid. */
  readonly fault: string | null
  /** True if the fault is only that input is missing, which is no error of the person who is typing. */
  readonly isIncomplete?: boolean
  readonly busy: boolean
  readonly children: ReactNode
  readonly onSave: () => void
  readonly onClose: () => void
}) {
  const [looking, setLooking] = useState(false)
  // Each step takes the focus, which is lost with the button that led to it.
  const [hasLooked, setHasLooked] = useState(false)
  return (
    <Dialog open onClose={onClose} className="dialog wide-dialog" backdrop={<div className="veil" />}>
      <DialogHeading>{title}</DialogHeading>
      {looking ? (
        <>
          <DiffView before={before} after={after} label="What will change" />
          <div className="actions">
            <button type="button" className="button" onClick={() => setLooking(false)}>
              Back
            </button>
            <button type="button" className="button primary" autoFocus disabled={busy} onClick={onSave}>
              Save
            </button>
          </div>
        </>
      ) : (
        <form
          className="stack"
          onSubmit={(event) => {
            event.preventDefault()
            setLooking(true)
            setHasLooked(true)
          }}
        >
          {children}
          {fault !== null && (
            <p className={`small ${isIncomplete ? 'muted' : 'over'}`} role="status">
              {fault}
            </p>
          )}
          <div className="actions">
            <button type="button" className="button" onClick={onClose}>
              Cancel
            </button>
            <button
              type="submit"
              className="button primary"
              autoFocus={hasLooked}
              disabled={fault !== null || before === after}
            >
              Review change
            </button>
          </div>
        </form>
      )}
    </Dialog>
  )
}
