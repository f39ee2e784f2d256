import { Dialog } from '@ariakit/react/dialog'
import { Side } from './side.tsx'

/** The menu where there is no room beside the page. */
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
