import type { PlanItem } from '@flotilla/protocol/templates-api'

/** Of a value in a plan; what is longer is told by its beginning. */
const valueMaxChars = 20_000

type Change = PlanItem['changes'][number]

/** Pure. */
export function textOf(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null)
  return text.length <= valueMaxChars ? text : `${text.slice(0, valueMaxChars)} [cut]`
}

/** Fields that become another; keys of objects are no order. Pure. */
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

/** Pure. */
export function itemOf(part: Pick<PlanItem, 'kind' | 'id'>, isThere: boolean, changes: Change[]): PlanItem {
  const action = isThere ? (changes.length === 0 ? 'keep' : 'change') : 'create'
  return { ...part, action, changes }
}
