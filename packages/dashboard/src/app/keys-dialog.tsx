import { Dialog, DialogDismiss, DialogHeading } from '@ariakit/react/dialog'
import { menu } from './menu.ts'

/** Lists the keys of the dashboard. */
export function KeysDialog({ close }: { readonly close: () => void }) {
  const keys: readonly (readonly [keys: string, what: string])[] = [
    ['Ctrl K', 'go to a page, agent, setting, task or run'],
    ['Enter', 'send the message'],
    ['Shift Enter', 'begin a new line'],
    ['Esc', 'stop the run, in the input field of a chat; close a dialog'],
    ...menu.map(({ key, title }) => [`g ${key}`, title] as const),
    ['?', 'show these keys'],
  ]
  return (
    <Dialog open onClose={close} className="dialog" backdrop={<div className="veil" />}>
      <DialogHeading render={<h2 />}>Keys</DialogHeading>
      <dl className="facts">
        {keys.map(([combination, what]) => (
          <div key={combination} className="fact">
            <dt>
              <kbd>{combination}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <div>
        <DialogDismiss className="button">Close</DialogDismiss>
      </div>
    </Dialog>
  )
}
