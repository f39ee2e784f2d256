import type { PlanItem } from '@flotilla/protocol/templates-api'
import { DiffView } from '../../design/diff-view.tsx'
import { Badge } from '../../design/parts.tsx'
import { isLongValue, planActions, planKind, summarizePlan } from './plan-summary.ts'
import { planFieldTitle, planFieldValue } from './format-plan-field.ts'

const tones = { create: 'ok', change: 'warn', keep: 'neutral', 'by-hand': 'warn' } as const
const actionWords = { create: 'create', change: 'change', keep: 'unchanged', 'by-hand': 'by hand' } as const

/** Shows everything that a template would create and change, each field with its value before. */
export function TemplatePlanView({ items }: { readonly items: readonly PlanItem[] }) {
  const warned = items.filter(({ warning }) => warning !== undefined)
  const listed = planActions.flatMap((action) => items.filter((item) => item.action === action))
  return (
    <>
      <p>{summarizePlan(items)}</p>
      {warned.map(({ kind, id, warning }) => (
        <div key={`${kind}:${id}`} className="note warn">
          <strong>
            {planKind(kind)} {id}
          </strong>
          <span>{warning}</span>
        </div>
      ))}
      <ul
        className="plan-items"
        aria-label="Effect of the template"
        // A part that scrolls must be reachable by keyboard.
        tabIndex={0}
      >
        {listed.map((item) => (
          <Item key={`${item.kind}:${item.id}`} item={item} />
        ))}
      </ul>
    </>
  )
}

function Item({ item: { kind, id, action, changes } }: { readonly item: PlanItem }) {
  return (
    <li>
      <details open={action !== 'keep'}>
        <summary className="row">
          <Badge tone={tones[action]}>{actionWords[action]}</Badge>
          <span className="muted">{planKind(kind)}</span>
          <strong className="clip">{id}</strong>
        </summary>
        {changes.length === 0 && <p className="small muted plan-fields">Nothing changes.</p>}
        <dl className="plan-fields">
          {changes.map((change) => (
            <div key={change.field} className="stack tight">
              <dt className="small muted">{planFieldTitle(change.field)}</dt>
              <dd>
                <Value change={change} of={id} />
              </dd>
            </div>
          ))}
        </dl>
      </details>
    </li>
  )
}

function Value({ change, of }: { readonly change: PlanItem['changes'][number]; readonly of: string }) {
  const { field } = change
  const before = change.before === null ? null : planFieldValue(field, change.before)
  const after = planFieldValue(field, change.after)
  if (isLongValue(change))
    return <DiffView before={before ?? ''} after={after} label={`${planFieldTitle(field)} of ${of}`} />
  return (
    <span className="plain-text">
      {before !== null && <span className="muted">{before} → </span>}
      {after}
    </span>
  )
}
