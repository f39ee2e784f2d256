import { formatDistance, formatUsd } from './format.ts'

/** The reason of a used-up budget, as `exhausted` of the mesh writes it; a run's outcome keeps only this text. */
const reason =
  /^the (daily|monthly) budget of (the fleet|(?:agent|project) \S+) has ([\d.]+) of ([\d.e-]+) USD left and .*?(?:; the budget resets at (\S+))?$/

/** Says a used-up budget in the words of a person; null for any other reason. Pure. */
export function describeUsedUpBudget(text: string, now: number): string | null {
  const found = reason.exec(text)
  if (found === null) return null
  const [, period, owner, left, limit, resets] = found
  const resetAt = resets === undefined ? Number.NaN : Date.parse(resets)
  const isOver = resetAt <= now
  const reset = Number.isNaN(resetAt) || isOver ? '' : ` It resets ${formatDistance(resetAt, now)}.`
  const day = period === 'daily' ? 'day' : 'month'
  const when = isOver ? `for that ${day}` : period === 'daily' ? 'for today' : 'for this month'
  return `Out of budget ${when}: ${formatUsd(Number(left))} of the ${formatUsd(Number(limit))} a ${day} of ${owner} is left, less than the next call may cost.${reset}`
}
