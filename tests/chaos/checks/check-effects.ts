import type { CallFact, EffectFact, Facts, Finding } from '../facts.ts'
import { partsOfCall, sharedKey } from '../steps.ts'

/** From this number of calls on, the model must have read the results of most. */
const judgedFrom = 20

/** Steps whose effect carries no call id; only their total is compared. */
const counted = ['shared', 'complete']

/**
 * A call has its effect at most once: exactly once if its result said done, never if its result said refused. A
 * planned step is carried out once, even if the model was asked for it twice.
 */
export function checkEffects(facts: Facts): Finding[] {
  const byCall = Map.groupBy(facts.effects, ({ callId }) => callId)
  const known = new Set(facts.calls.map(({ id }) => id))
  return [
    ...facts.calls
      .filter(({ step }) => !counted.includes(step))
      .flatMap((call) => checkCall(call, byCall.get(call.id) ?? [])),
    ...[...byCall]
      .filter(([id]) => !known.has(id))
      .map(([id, found]) =>
        finding('effect-without-request', `no model asked for ${id}`, describeEffects(found)),
      ),
    ...checkSteps(facts),
    ...checkVersions(facts),
    ...checkResults(facts),
  ]
}

/** Finds a chaos that reads no results: nothing would then be compared with its effect. */
function checkResults({ calls }: Facts): Finding[] {
  const read = calls.filter(({ told }) => told !== null).length
  if (calls.length < judgedFrom || read * 2 > calls.length) return []
  return [finding('results-unread', `the results of ${read} of ${calls.length} calls were read`, [])]
}

function checkCall(call: CallFact, found: readonly EffectFact[]): Finding[] {
  const evidence = [...describeEffects(found), `the model was told: ${call.words || 'nothing'}`]
  const name = `the ${call.step} of ${call.id}`
  if (found.length > 1) return [finding('effect-twice', `${name} was done ${found.length} times`, evidence)]
  if (call.told === 'done' && found.length === 0) {
    return [finding('effect-lost', `${name} was told as done and did not happen`, evidence)]
  }
  if (call.told === 'refused' && found.length === 1) {
    return [finding('effect-denied', `${name} happened and was told as refused`, evidence)]
  }
  return []
}

/**
 * Finds steps that two answers of the model asked for and that both had an effect. Markers of jobs repeat with each
 * firing, and those of a task with each agent that it is given to, so both are left out.
 */
function checkSteps({ calls, effects, tasks, runs }: Facts): Finding[] {
  const anew = new Set(tasks.filter(({ givenAnew }) => givenAnew > 0).map(({ id }) => id))
  const again = new Set(
    runs.flatMap(({ taskId, marker }) => (taskId !== null && anew.has(taskId) ? [marker] : [])),
  )
  const once = calls.filter(
    ({ marker, step }) => !marker.startsWith('j') && !again.has(marker) && !counted.includes(step),
  )
  const acted = new Set(effects.map(({ callId }) => callId))
  const bySteps = Map.groupBy(
    once.filter(({ id }) => acted.has(id)),
    ({ id, marker }) => `${marker}.${partsOfCall(id).index}`,
  )
  return [...bySteps]
    .filter(([, made]) => made.length > 1)
    .map(([step, made]) =>
      finding(
        'step-twice',
        `the step ${step} was made by two answers of the model`,
        made.map(({ id }) => id),
      ),
    )
}

/** A key that several agents write has one version for each write, without gaps. */
function checkVersions({ versions, calls }: Facts): Finding[] {
  const found: Finding[] = []
  for (const [key, numbers] of versions) {
    const gap = numbers.findIndex((version, index) => version !== index + 1)
    if (gap >= 0) {
      const near = numbers.slice(Math.max(0, gap - 2), gap + 3).join(', ')
      found.push(finding('version-gap', `versions of ${key} have a gap`, [`... ${near} ...`]))
    }
    if (key !== sharedKey) continue
    const made = calls.filter(({ step, told }) => step === 'shared' && told !== 'refused')
    const sure = made.filter(({ told }) => told === 'done').length
    if (numbers.length < sure || numbers.length > made.length) {
      found.push(
        finding('shared-miscounted', `${key} has ${numbers.length} versions`, [
          `${sure} calls were told as done, ${made.length - sure} more as unknown or not at all`,
        ]),
      )
    }
  }
  return found
}

function describeEffects(found: readonly EffectFact[]): string[] {
  return found.length === 0 ? ['no effect was found'] : found.map(({ where }) => where)
}

function finding(check: string, what: string, evidence: readonly string[]): Finding {
  return { check, what, evidence }
}
