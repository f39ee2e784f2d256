import { Dialog, DialogDescription, DialogHeading } from '@ariakit/react/dialog'
import { useState } from 'react'
import { applicable } from '../data/bulk-action.ts'
import type { BulkAction, BulkItem } from '../data/bulk-action.ts'
import { formatCount } from '../data/format.ts'
import { refusalOf } from '../data/refusal.ts'
import { useBulk } from '../data/use-bulk.ts'
import type { Bulk } from '../data/use-bulk.ts'
import { useMesh } from '../data/use-mesh.ts'
import { Act } from './act.tsx'
import { Points } from './points.tsx'
import './bulk-dialog.css'
import './form-dialog.css'

/** Lists things of which several are chosen, and does one action on all of them after a confirmation. */
export function BulkDialog<Item extends BulkItem>({
  thing,
  items,
  actions,
  stale,
  onClose,
}: Bulk & {
  readonly items: readonly Item[]
  readonly actions: readonly BulkAction<Item>[]
  readonly onClose: () => void
}) {
  const me = useMesh('me').data
  const bulk = useBulk<Item>({ thing, stale })
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const [find, setFind] = useState('')
  /** The items when the person was asked: one that is chosen by a later event is not affected. */
  const [asked, setAsked] = useState<{
    readonly action: BulkAction<Item>
    readonly on: readonly Item[]
  } | null>(null)
  const chosen = items.filter(({ id }) => ids.has(id))
  const whyNot = (action: BulkAction<Item>) => (item: Item) =>
    refusalOf(me, { call: action.call, agent: item.agent }) ?? action.why(item)
  const shown = items.filter(({ title, detail, points = [] }) =>
    [title, detail, ...points].join('\n').toLowerCase().includes(find.trim().toLowerCase()),
  )
  if (asked !== null)
    return (
      <Dialog open onClose={onClose} className="dialog" backdrop={<div className="veil" />}>
        <DialogHeading>
          {asked.action.name} {formatCount(asked.on.length, thing)}?
        </DialogHeading>
        <DialogDescription render={<div />}>{asked.action.effect}</DialogDescription>
        <ul className="points" aria-label="What it is done to">
          {asked.on.map(({ id, title, detail, points }) => (
            <li key={id}>
              {title} <span className="small muted">{detail}</span>
              <Points sentences={points ?? []} />
            </li>
          ))}
        </ul>
        <div className="actions">
          <button type="button" className="button" autoFocus onClick={() => setAsked(null)}>
            Back
          </button>
          <button
            type="button"
            className={`button ${asked.action.danger === true ? 'danger' : 'primary'}`}
            disabled={bulk.isBusy}
            onClick={() => void bulk.carryOut(asked.action, asked.on).then(onClose)}
          >
            {asked.action.name} {formatCount(asked.on.length, thing)}
          </button>
        </div>
      </Dialog>
    )
  return (
    <Dialog open onClose={onClose} className="dialog wide-dialog" backdrop={<div className="veil" />}>
      <DialogHeading>Choose {thing}s</DialogHeading>
      <div className="row">
        <input
          className="input"
          type="search"
          placeholder="Search"
          aria-label={`Search ${thing}s`}
          value={find}
          onChange={(event) => setFind(event.target.value)}
        />
        <label className="row tick">
          <input
            type="checkbox"
            checked={shown.length > 0 && shown.every(({ id }) => ids.has(id))}
            onChange={(event) => setIds(withAll(ids, shown, event.target.checked))}
          />
          <span>All {shown.length}</span>
        </label>
      </div>
      <ul className="bulk-items" aria-label={`List of ${thing}s`} tabIndex={0}>
        {shown.map((item) => (
          <li key={item.id}>
            <label className="row tick">
              <input
                type="checkbox"
                checked={ids.has(item.id)}
                onChange={(event) => setIds(withAll(ids, [item], event.target.checked))}
              />
              <span>
                {item.title} <span className="small muted">{item.detail}</span>
              </span>
            </label>
            <Points sentences={item.points ?? []} />
          </li>
        ))}
      </ul>
      {chosen.length > 0 && <Others chosen={chosen} actions={actions} whyNot={whyNot} />}
      <div className="actions">
        <button type="button" className="button" onClick={onClose}>
          Close
        </button>
        {actions.map((action) => {
          const { applies } = applicable(chosen, whyNot(action))
          return (
            <Act
              key={action.name}
              call={action.call}
              className="button"
              disabled={applies.length === 0}
              onClick={() => setAsked({ action, on: applies })}
            >
              {action.name} {applies.length === 0 ? '' : applies.length} …
            </Act>
          )
        })}
      </div>
    </Dialog>
  )
}

/** Says why an action does not apply to all that is chosen. */
function Others<Item extends BulkItem>({
  chosen,
  actions,
  whyNot,
}: {
  readonly chosen: readonly Item[]
  readonly actions: readonly BulkAction<Item>[]
  readonly whyNot: (action: BulkAction<Item>) => (item: Item) => string | null
}) {
  const lines = actions.flatMap((action) => {
    const { others } = applicable(chosen, whyNot(action))
    const [first] = others
    if (first === undefined || others.length === chosen.length) return []
    const more = others.length > 1 ? ` and ${others.length - 1} more` : ''
    return [`${action.name}: not ${first.title}${more}. ${whyNot(action)(first) ?? ''}`]
  })
  return lines.map((line) => (
    <p key={line} className="small muted">
      {line}
    </p>
  ))
}

function withAll(
  ids: ReadonlySet<string>,
  items: readonly { readonly id: string }[],
  isChosen: boolean,
): ReadonlySet<string> {
  const next = new Set(ids)
  for (const { id } of items) {
    if (isChosen) next.add(id)
    else next.delete(id)
  }
  return next
}
