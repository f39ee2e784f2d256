import { Dialog, DialogDescription, DialogHeading } from '@ariakit/react/dialog'
import type { ReactNode } from 'react'
import './form-dialog.css'

/** A dialog that asks for input before an action; Escape closes it, Enter submits it. */
export function FormDialog({
  title,
  words,
  action,
  leave = 'Cancel',
  busy,
  danger = false,
  children,
  onSend,
  onClose,
}: {
  readonly title: string
  readonly words?: ReactNode
  readonly action: string
  /** Label of the button that closes the dialog; needed if the action itself is a cancellation. */
  readonly leave?: string
  readonly busy: boolean
  readonly danger?: boolean
  readonly children?: ReactNode
  readonly onSend: () => void
  readonly onClose: () => void
}) {
  return (
    <Dialog open onClose={onClose} className="dialog" backdrop={<div className="veil" />}>
      <DialogHeading>{title}</DialogHeading>
      {words !== undefined && (
        <DialogDescription render={<div />} className="muted plain-text">
          {words}
        </DialogDescription>
      )}
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault()
          if (!busy) onSend()
        }}
      >
        {children}
        <div className="actions">
          <button type="button" className="button" onClick={onClose}>
            {leave}
          </button>
          <button type="submit" className={`button ${danger ? 'danger' : 'primary'}`} disabled={busy}>
            {action}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
