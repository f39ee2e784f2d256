import { Dialog } from '@ariakit/react/dialog'
import { Side } from './side.tsx'

/** The menu on screens that are too narrow to show it beside the page. */
export function Drawer({ close }: { readonly close: () => void }) {
  return (
    <Dialog
      open
      onClose={close}
      aria-label="Menu"
      className="drawer"
      backdrop={<div className="veil" />}
      unmountOnHide
    >
      <Side />
    </Dialog>
  )
}
