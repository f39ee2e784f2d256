import type { PlanItem } from '@flotilla/protocol/templates-api'

/** The maximum length of a value in a plan. Longer ones are cut. */
const valueMaxChars = 20_000

type Change = PlanItem['changes'][number]

export function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null)
  return text.length <= valueMaxChars ? text : `${text.slice(0, valueMaxChars)} [cut]`
}

/** The changed fields; the order of object keys is ignored. Pure. */
export function changesOf(
  before: Readonly<Record<string, unknown>> | null,
  after: Readonly<Record<string, unknown>>,
): Change[] {
  return Object.entries(after).flatMap(([field, value]) => {
    if (value === undefined) return []
    const was = before === null ? null : textOf(before[field])
    const is = textOf(value)
    return was === is ? [] : [{ field, before: was, after: is }]
  })
}

export function itemOf(part: Pick<PlanItem, 'kind' | 'id'>, isThere: boolean, changes: Change[]): PlanItem {
  const action = isThere ? (changes.length === 0 ? 'keep' : 'change') : 'create'
  return { ...part, action, changes }
}
