import { Link, useLocation } from 'wouter'
import { isProblemCode, problemCatalog } from '@flotilla/protocol/problem-catalog'
import { repairHere } from '../app/repair-here.ts'
import { repairPlaceOf } from '../app/repair-place.ts'
import type { Concerned } from '../app/repair-place.ts'
import { describeUsedUpBudget } from '../data/describe-used-up-budget.ts'
import { useNow } from '../data/use-now.ts'

/** The button to the page that repairs a problem; nothing if no page does. */
export function RepairLink({ code, of = {} }: { readonly code: string; readonly of?: Concerned }) {
  const [here] = useLocation()
  const place = repairPlaceOf(code, of)
  return place === null || place.path === here ? null : (
    <Link href={place.path} className="button small">
      {place.words}
    </Link>
  )
}

/** Why a run has no answer, what a person can do about it, and the button that leads there. */
export function FailureNote({
  text,
  code,
  of,
  tone = 'bad',
}: {
  readonly text: string
  readonly code: string | undefined
  readonly of: Concerned
  readonly tone?: 'bad' | 'warn'
}) {
  const now = useNow(60_000)
  const repair =
    code !== undefined && isProblemCode(code)
      ? repairHere({ code, repair: problemCatalog[code].repair })
      : null
  return (
    <div className={`note ${tone}`}>
      <span className="plain-text">
        {(code === 'budget-exhausted' ? describeUsedUpBudget(text, now) : null) ?? text}
      </span>
      {repair !== null && <span className="small">{repair}</span>}
      {code !== undefined && (
        <div className="row">
          <RepairLink code={code} of={of} />
        </div>
      )}
    </div>
  )
}
