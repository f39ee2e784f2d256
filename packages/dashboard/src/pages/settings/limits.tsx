import { useState } from 'react'
import type { BudgetView } from '@flotilla/protocol/money-api'
import { useAction, useMesh } from '../../data/use-mesh.ts'
import { TextField } from '../../design/fields.tsx'
import { Card, Failed, Loading } from '../../design/parts.tsx'
import { BudgetList } from '../budget-list.tsx'
import { BudgetPeriod } from '../budget-period.tsx'
import { budgetTitle } from '../sort-budgets.ts'

/** Shows the budgets of agents, projects and the whole fleet. */
export function Limits() {
  const budgets = useMesh('budgets')
  return (
    <Card title="Budgets">
      {budgets.isPending && <Loading />}
      {budgets.error && <Failed error={budgets.error} retry={budgets.refetch} />}
      <BudgetList budgets={budgets.data?.budgets ?? []} className="body stack-wide">
        {(budget) => <Budget key={`${budget.scope} ${budget.id}`} budget={budget} />}
      </BudgetList>
    </Card>
  )
}

function Budget({ budget }: { readonly budget: BudgetView }) {
  const [editing, setEditing] = useState(false)
  const { daily, monthly } = budget
  const title = budgetTitle(budget)
  return (
    <li className="stack">
      <div className="row apart">
        <strong>{title}</strong>
        <button type="button" className="button small" onClick={() => setEditing(!editing)}>
          {editing ? 'Cancel' : 'Change'}
          <span className="hidden-words"> the budget of {title}</span>
        </button>
      </div>
      <div className="halves">
        <BudgetPeriod name="Today" whose={title} period={daily} />
        <BudgetPeriod name="This month" whose={title} period={monthly} />
      </div>
      {editing && <BudgetForm budget={budget} onDone={() => setEditing(false)} />}
    </li>
  )
}

function BudgetForm({
  budget: { scope, id, daily, monthly },
  onDone,
}: {
  readonly budget: BudgetView
  readonly onDone: () => void
}) {
  const [perDay, setPerDay] = useState(String(daily.limit_usd ?? ''))
  const [perMonth, setPerMonth] = useState(String(monthly.limit_usd ?? ''))
  const set = useAction('budgetSet', {
    done: 'The budget applies from the next call on.',
    failsInPlace: true,
    stale: ['budgets', 'status', 'costReport'],
  })
  const limit = (text: string) => (text.trim() === '' ? (scope === 'agent' ? undefined : null) : Number(text))
  const body = { scope, id, daily_usd: limit(perDay), monthly_usd: limit(perMonth) }
  return (
    <form
      className="form"
      onSubmit={(event) => {
        event.preventDefault()
        set.mutate({ body }, { onSuccess: onDone })
      }}
    >
      <div className="form-pair">
        <TextField
          label="US dollars a day"
          type="number"
          min={0}
          step="any"
          value={perDay}
          onChange={setPerDay}
        />
        <TextField
          label="US dollars a month"
          type="number"
          min={0}
          step="any"
          value={perMonth}
          onChange={setPerMonth}
        />
      </div>
      {set.error !== null && <Failed error={set.error} />}
      <div>
        <button type="submit" className="button primary" disabled={set.isPending}>
          Set
        </button>
      </div>
    </form>
  )
}
