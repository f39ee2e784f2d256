import { Dialog, DialogDescription, DialogHeading } from '@ariakit/react/dialog'
import type { ReactNode } from 'react'

/** Asks for confirmation before an action that cannot be undone. */
export function Confirm({
  title,
  action,
  leave = 'Cancel',
  busy,
  children,
  onConfirm,
  onClose,
}: {
  readonly title: string
  readonly action: string
  /** Label of the button that closes the dialog; needed if the action itself is a cancellation. */
  readonly leave?: string
  readonly busy: boolean
  readonly children: ReactNode
  readonly onConfirm: () => void
  readonly onClose: () => void
}) {
  return (
    <Dialog open onClose={onClose} className="dialog" backdrop={<div className="veil" />}>
      <DialogHeading>{title}</DialogHeading>
      <DialogDescription render={<div />}>{children}</DialogDescription>
      <div className="actions">
        <button type="button" className="button" onClick={onClose}>
          {leave}
        </button>
        <button type="button" className="button danger" disabled={busy} onClick={onConfirm}>
          {action}
        </button>
      </div>
    </Dialog>
  )
}
