import type { AgentEdit } from '@flotilla/protocol/agent-edit'

/** The settings of an agent that a person edits, as text of form fields. */
export interface AgentSettings {
  readonly role: string
  /** Empty means the fleet's default model. */
  readonly model: string
  readonly dailyUsd: string
  readonly monthlyUsd: string
}

/**
 * Returns the edits from `before` to `after`, one for each changed field. The mesh rejects an edit if its `seen` is
 * not the current value. Pure.
 */
export function editsOf(before: AgentSettings, after: AgentSettings): readonly AgentEdit[] {
  const edits: AgentEdit[] = []
  const role = after.role.trim()
  if (role !== before.role && role !== '')
    edits.push({ field: 'role', value: role, reason: '', seen: before.role })
  const model = after.model.trim()
  if (model !== before.model)
    edits.push({ field: 'model', value: orNull(model), reason: '', seen: orNull(before.model) })
  const budget = {
    ...(isOther(before.dailyUsd, after.dailyUsd) ? { daily_usd: Number(after.dailyUsd) } : {}),
    ...(isOther(before.monthlyUsd, after.monthlyUsd) ? { monthly_usd: Number(after.monthlyUsd) } : {}),
  }
  if (Object.keys(budget).length > 0) {
    const seen = { daily_usd: Number(before.dailyUsd), monthly_usd: Number(before.monthlyUsd) }
    edits.push({ field: 'budget', value: budget, reason: '', seen })
  }
  return edits
}

const orNull = (model: string): string | null => (model === '' ? null : model)

function isOther(before: string, after: string): boolean {
  return after.trim() !== '' && Number.isFinite(Number(after)) && Number(before) !== Number(after)
}

/** Formats one setting a line, for a readable difference. Pure. */
export function settingsText({ role, model, dailyUsd, monthlyUsd }: AgentSettings): string {
  return [
    `role: ${role.trim()}`,
    `model: ${model.trim() === '' ? 'the fleet’s default' : model.trim()}`,
    `dollars a day: ${dailyUsd}`,
    `dollars a month: ${monthlyUsd}`,
  ].join('\n')
}
