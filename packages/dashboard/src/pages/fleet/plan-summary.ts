import type { PlanItem } from '@flotilla/protocol/templates-api'
import { formatCount } from '../../data/format.ts'

const verbs = { create: 'creates', change: 'changes', keep: 'keeps', 'by-hand': 'leaves to you' } as const
/** `watch` is a watch of the blackboard, `watcher` one of files. */
const things: Readonly<Record<PlanItem['kind'], string>> = {
  project: 'project',
  agent: 'agent',
  schedule: 'schedule',
  webhook: 'webhook',
  watch: 'blackboard watch',
  watcher: 'file watcher',
}

/** The order in which a plan is read: what happens first, what stays last. */
export const planActions = ['create', 'change', 'by-hand', 'keep'] as const

/** Says in one sentence what a plan does, such as `It creates 2 agents and 1 schedule, and keeps 1 agent.` Pure. */
export function summarizePlan(items: readonly PlanItem[]): string {
  const parts = planActions.flatMap((action) => {
    const counts = countKinds(items.filter((item) => item.action === action))
    return counts === '' ? [] : [`${verbs[action]} ${counts}`]
  })
  if (parts.length === 0) return 'It does nothing.'
  return `It ${joined(parts)}. It removes nothing.`
}

function countKinds(items: readonly PlanItem[]): string {
  const kinds = [...new Set(items.map(({ kind }) => kind))]
  return joined(
    kinds.map((kind) => formatCount(items.filter((item) => item.kind === kind).length, planKind(kind))),
  )
}

function joined(parts: readonly string[]): string {
  return parts.length < 2 ? (parts[0] ?? '') : `${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
}

/** The readable name of a kind of item. Pure. */
export function planKind(kind: PlanItem['kind']): string {
  return things[kind]
}

/** True for a value that is shown as a text of several lines. Pure. */
export function isLongValue({ before, after }: PlanItem['changes'][number]): boolean {
  return [before ?? '', after].some((text) => text.includes('\n') || text.length > 200)
}
